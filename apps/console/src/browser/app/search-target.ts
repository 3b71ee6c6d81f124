/** What a search text can stand for. */
export type SearchKind = 'uuid' | 'name'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const name = /^[A-Za-z0-9._~:@-]{1,128}$/

/** Classifies a search text: the id of a notification, or one of a user or a client; undefined for neither. */
export function classifySearch(text: string): SearchKind | undefined {
  const trimmed = text.trim()
  if (uuid.test(trimmed)) return 'uuid'
  return name.test(trimmed) ? 'name' : undefined
}

/** When a UUID of version 7 was made (RFC 9562 §5.7); undefined for other versions. */
export function timeOfUuid(id: string): Date | undefined {
  if (id[14] !== '7') return undefined
  return new Date(Number.parseInt(id.replace('-', '').slice(0, 12), 16))
}
