# The public names, each once: type checkers and editors read them here, and so does `__init__.py`.
from poscount.auditing.label_table import audit as audit
from poscount.auditing.likely import likely_positives as likely_positives
from poscount.auditing.settlement import settle as settle
from poscount.change.detector import ChangeDetector as ChangeDetector
from poscount.change.series import trend as trend
from poscount.counts.counts import Counts as Counts
from poscount.diagnostics.assumption_report import diagnose as diagnose
from poscount.diagnostics.two_samples import compare_samples as compare_samples
from poscount.errors import FileError as FileError
from poscount.errors import InputError as InputError
from poscount.interop.contamination import estimate_contamination as estimate_contamination
from poscount.methods.bootstrap import Bootstrap as Bootstrap
from poscount.methods.minimum import Minimum as Minimum
from poscount.methods.odin import ODIn as ODIn
from poscount.methods.pat import PAT as PAT
from poscount.methods.pu.alphamax import AlphaMax as AlphaMax
from poscount.methods.pu.bbe import BBE as BBE
from poscount.methods.pu.dedpul import DEDPUL as DEDPUL
from poscount.methods.pu.en import EN as EN
from poscount.methods.pu.extice import ExTIcE as ExTIcE
from poscount.methods.pu.km import KM1 as KM1
from poscount.methods.pu.km import KM2 as KM2
from poscount.methods.pu.pe import PE as PE
from poscount.methods.pu.pen_l1 import PenL1 as PenL1
from poscount.methods.pu.ranfoce import RanFocE as RanFocE
from poscount.methods.pu.tice import TIcE as TIcE
from poscount.methods.pu.trcq import TRCQ as TRCQ
from poscount.methods.regions.multi_rcq import MultiRCQ as MultiRCQ
from poscount.methods.regions.negatives import RCQWithNegatives as RCQWithNegatives
from poscount.methods.regions.rcq import RCQ as RCQ
from poscount.methods.regions.subclass_rcq import SubclassRCQ as SubclassRCQ
from poscount.registry import load as load
from poscount.results.prevalence import Interval as Interval
from poscount.results.prevalence import Prevalence as Prevalence
from poscount.scorers.mahalanobis import Mahalanobis as Mahalanobis

__version__: str
