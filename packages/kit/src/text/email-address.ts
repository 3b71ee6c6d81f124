/** RFC 5322 §3.2.3 `atext` and, for internationalized mail (RFC 6532 §3.2), letters, marks and digits of any script. */
const atom = "[\\p{L}\\p{M}\\p{N}!#$%&'*+/=?^_`{|}~-]+"
const label = '[\\p{L}\\p{N}](?:[\\p{L}\\p{M}\\p{N}-]*[\\p{L}\\p{M}\\p{N}])?'
const addrSpec = new RegExp(`^${atom}(?:\\.${atom})*@(?:${label}\\.)+${label}$`, 'u')

const maxLocalPartBytes = 64
const maxAddressBytes = 254
const maxLabelBytes = 63

/** What an email address must be, for error texts. */
export const emailAddressExpected = 'must be one email address such as alice@example.com'

/**
 * Whether the text is exactly one mail address: `dot-atom@domain` (RFC 5322 §3.4.1) within the lengths of
 * RFC 5321 §4.5.3.1. Display names, comments, lists, groups, quoted local parts and address literals are refused:
 * parsers disagree about them, and what one reads as part of an address another reads as a second recipient.
 */
export function isEmailAddress(text: string): boolean {
  if (Buffer.byteLength(text) > maxAddressBytes || !addrSpec.test(text)) return false
  const at = text.lastIndexOf('@')
  return (
    Buffer.byteLength(text.slice(0, at)) <= maxLocalPartBytes &&
    text
      .slice(at + 1)
      .split('.')
      .every((part) => Buffer.byteLength(part) <= maxLabelBytes)
  )
}
