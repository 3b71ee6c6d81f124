/**
 * For so long after a claim its calls begin without another look at the store, in milliseconds. An erasure answers only
 * after this time: from then on every call of a claim that knew the user looks first, and finds the delivery gone.
 */
export const uncheckedMs = 100
