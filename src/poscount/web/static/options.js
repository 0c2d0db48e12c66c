// The settings that some methods have and others have not, and how the text of each is read.

export const OPTIONS = {
  scorer: String,
  bootstrap: Number,
  confidence: Number,
  recognisable: (text) => text === "true",
  tolerance: Number,
};
