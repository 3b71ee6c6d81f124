/** The path of what was pasted: an address may be a whole one, and a query matches nothing. */
export function cleanPath(text: string): string {
  const path = text
    .trim()
    .replace(/^https?:\/\/[^/]+/i, '')
    .replace(/[?#].*$/s, '')
  return path.startsWith('/') ? path : `/${path}`
}
