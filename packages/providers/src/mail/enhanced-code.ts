/** Enhanced status codes (RFC 3463) that speak of the address itself: it is not there, or is no more. */
const addressCodes = new Set(['1.1', '1.2', '1.3', '1.6', '1.10', '2.1'])

/** What servers without enhanced codes say of an address that is not there. */
const noSuchUser =
  /\b(?:no such (?:user|mailbox|recipient|address)|(?:user|recipient|mailbox|address) (?:is )?(?:unknown|not found)|unknown (?:user|recipient|mailbox)|does ?n[o']t exist|no mailbox here|mailbox (?:is )?(?:disabled|inactive))\b/i

/** The enhanced status code of a reply, such as `5.1.1`. */
export function parseEnhancedCode(text: string): string | undefined {
  return /(?:^|[\s\-(#])([245]\.\d{1,3}\.\d{1,3})(?=$|[\s):;,])/.exec(text)?.[1]
}

/**
 * Whether a reply or a bounce says that nothing will ever reach this address. A full mailbox, a policy and whatever a
 * server may take back don't say so. `status` is the enhanced code; where there is none, the text has to be plain.
 */
export function isAddressGone(status: string | undefined, text: string): boolean {
  if (status === undefined) return noSuchUser.test(text)
  const [kind, ...rest] = status.split('.')
  return kind === '5' && addressCodes.has(rest.join('.'))
}
