import type { SendResult } from '@gatehouse/providers'
import type { ClaimedDelivery } from '../store/store.ts'

/** Words that could identify the message: long ones, and those with digits. */
const identifyingWords = /[^\s<>"'=]{6,}|[^\s<>"'=]*\d[^\s<>"'=]{3,}|[^\s<>"'=]{3,}\d/g
const redactedReason = 'removed: it quotes a sensitive message'

/** Replaces the reasons that quote a sensitive message: nothing of it is stored, not even in a provider's words. */
export function redactQuotes<Answer extends { readonly result: SendResult }>(
  { sensitive, message }: ClaimedDelivery,
  results: readonly Answer[],
): readonly Answer[] {
  if (!sensitive) return results
  const { subject = '', body, html = '' } = message
  const words = new Set(`${subject} ${body} ${html}`.match(identifyingWords))
  const quotes = (text: string) => words.values().some((word) => text.includes(word))
  return results.map((each): Answer => {
    const { result } = each
    return 'reason' in result && quotes(result.reason)
      ? { ...each, result: { ...result, reason: redactedReason } }
      : each
  })
}
