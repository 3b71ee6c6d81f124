/**
 * The user id as one token of a subject of NATS: each byte of its UTF-8 that is not a letter, a digit, `-` or `_` is
 * written as `%` and two upper-case hexadecimal digits. Ids of these characters alone stay as they are.
 */
export function tokenOfUser(userId: string): string {
  if (isPlain.test(userId)) return userId
  return Array.from(Buffer.from(userId, 'utf8'), (byte) => {
    const character = String.fromCharCode(byte)
    return isPlain.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }).join('')
}

const isPlain = /^[A-Za-z0-9_-]+$/

const offsetBasis = 0x811c9dc5
const prime = 0x01000193

/**
 * The hash of a user: FNV-1a with 32 bits of the user's token. It is what the subject transform `partition()` of
 * nats-server computes, so that a broker and the database divide users alike.
 */
export function hashOfUser(userId: string): number {
  const token = tokenOfUser(userId)
  let hash = offsetBasis
  for (let index = 0; index < token.length; index++) hash = Math.imul(hash ^ token.charCodeAt(index), prime)
  return hash >>> 0
}
