/** Enhanced status codes (RFC 3463 §3.2, §3.3) about the address itself: it does not exist, or is disabled. */
const addressCodes = new Set(['1.1', '1.2', '1.3', '1.6', '1.10', '2.1'])

/** How servers without enhanced codes describe an address that does not exist. */
const noSuchUser =
  /\b(?:no such (?:user|mailbox|recipient|address)|(?:user|recipient|mailbox|address) (?:is )?(?:unknown|not found)|unknown (?:user|recipient|mailbox)|does ?n[o']t exist|no mailbox here|mailbox (?:is )?(?:disabled|inactive))\b/i

/** How servers name the sender. What does not exist is then probably the sender, not the recipient. */
const namesSender =
  /\b(?:sender|return[- ]?path|reverse[- ]?path|envelope from|mail from|(?<!recipient )(?:verify|verification) failed)\b/i

/** The enhanced status code in a reply, such as `5.1.1`. */
export function parseEnhancedCode(text: string): string | undefined {
  return /(?:^|[\s\-(#])([245]\.\d{1,3}\.\d{1,3})(?=$|[\s):;,])/.exec(text)?.[1]
}

/**
 * Whether a reply or a bounce says that the address is invalid for good. A full mailbox, a policy or a temporary failure
 * is not enough. `code` is the enhanced status code; without one the text has to be unambiguous and
 * about the recipient.
 */
export function isAddressInvalid(code: string | undefined, text: string): boolean {
  if (code === undefined) return noSuchUser.test(text) && !namesSender.test(text)
  const [kind, ...rest] = code.split('.')
  return kind === '5' && addressCodes.has(rest.join('.'))
}
