import { isCleanText } from '@gatehouse/kit'

const maxHeaderLength = 1_000

/** Reads which key a JWT says it is signed with, before its signature is verified. */
export function readKid(token: string): string | undefined {
  const [header = ''] = token.split('.', 1)
  if (header.length > maxHeaderLength) return undefined
  try {
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid?: unknown }
    return typeof kid === 'string' && isCleanText(kid) ? kid : undefined
  } catch {
    return undefined
  }
}
