"""The order of the gallery, its parts, and a sentence below each of its thumbnails."""

import re

# From an answer to the methods; what one sees in each picture.
PARTS = {
    "I have an answer": {
        "plot_nights": "One dot with its interval per night. All nine intervals cover the truth.",
        "plot_scores": "The positives, scaled to the answer, fit under the sample.",
        "plot_posterior": "Rows near 500 Hz are probably positive; many others remain uncertain.",
        "plot_targets": "Three kinds of mosquito and the rest, adding up to 100 % each night.",
        "plot_trend": "A step is found at week 30, one early. No small week raises an alarm.",
        "plot_windows": "The share in the last 1,000 recordings rises with the stream.",
    },
    "Can I trust it?": {
        "plot_regions": "The regions that bound the answer agree, so no single one decides.",
        "plot_diagnosis": "Half of the space is too full: negatives look like positives there.",
        "plot_shares": "One feature has far fewer rows on one side than the positives have: drift.",
        "plot_evaluation": "Precision and recall of a classifier, without one labelled negative.",
        "plot_overlap": "PAT answers near 100 % whatever the truth; RCQ follows it.",
    },
    "How the methods work": {
        "plot_thresholds": "Mistakes cancel at one share only; few are made at a high threshold.",
        "plot_error_by_prevalence": "Classify and count is right at one share of positives only.",
        "plot_en": "Where negatives are near, EN's probabilities fall and its answer is too high.",
        "plot_odin_bins": "Each bin holds a tenth of the positives: their histogram is flat.",
        "plot_partial_matching": "At the answer, the scaled positives just begin to overflow.",
        "plot_alphamax": "The likelihood is flat up to the truth and then falls.",
        "plot_pat_curve": "A level curve: no negatives pass any threshold. A falling one: they do.",
        "plot_tice_region": "TIcE's box on the left is free of negatives; PAT's ring is not.",
    },
}
NAMES = [name for part in PARTS.values() for name in part]
_THUMBNAIL = re.compile(
    r"(\.\. raw:: html\n\n    <div class=\"sphx-glr-thumbcontainer\".*?"
    r":doc:`/auto_gallery/(plot_\w+)`.*?<div class=\"sphx-glr-thumbnail-title\">.*?</div>\n)",
    re.DOTALL,
)


class ByUse:
    """Sort key of the files of the gallery."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, file):
        """Place of a file; one that is not listed above is an error."""
        return NAMES.index(file.removesuffix(".py"))


def divide(text):
    """Put a heading above the first thumbnail of each part, and a sentence below each."""
    firsts = {next(iter(part)): title for title, part in PARTS.items()}
    sentences = {name: said for part in PARTS.values() for name, said in part.items()}

    def one(match):
        thumbnail, name = match.groups()
        thumbnail += f'      <div class="thumbnail-sentence">{sentences[name]}</div>\n'
        if name not in firsts:
            return thumbnail
        title = firsts[name]
        return (
            f".. raw:: html\n\n    </div>\n\n{title}\n{'-' * len(title)}\n\n"
            f'.. raw:: html\n\n    <div class="sphx-glr-thumbnails">\n\n{thumbnail}'
        )

    return _THUMBNAIL.sub(one, text)


def setup(app):
    """Tell Sphinx."""

    def divided(app, docname, source):
        if docname == "auto_gallery/index":
            source[0] = divide(source[0])

    app.connect("source-read", divided)
    return {"parallel_read_safe": True}
