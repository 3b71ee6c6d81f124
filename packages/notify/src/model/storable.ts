/** Text without what PostgreSQL can't store: NUL, and halves of characters. */
export function storable(text: string): string {
  return text.replaceAll('\u0000', '\ufffd').toWellFormed()
}
