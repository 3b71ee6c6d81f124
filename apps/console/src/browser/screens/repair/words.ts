/** What is said for a value of the API; one that this version does not know is shown as it is. */
export function wordOf<Word>(words: Readonly<Record<string, Word>>, value: string): Word | undefined {
  return Object.hasOwn(words, value) ? words[value] : undefined
}
