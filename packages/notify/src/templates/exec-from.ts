/** The first match of a global pattern at or after a place of a text; of a sticky one, the match at that place. */
export function execFrom(pattern: RegExp, text: string, place: number): RegExpExecArray | null {
  pattern.lastIndex = place
  return pattern.exec(text)
}
