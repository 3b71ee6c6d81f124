import { maskEmail, maskIpAddress, maskPhoneNumber } from '@gatehouse/kit'
import type { formatExplanation } from './limit-responses.ts'

type Explanation = ReturnType<typeof formatExplanation>

interface KindAndId {
  readonly kind: string
  readonly id: string
}

/** Whether callers of a kind are known by their address, alone or with something else. */
export function isAddressKind(kind: string): boolean {
  return kind.split('-').some((name) => name === 'ip' || name === 'address')
}

/** Masks personal data in an identifier: addresses become their network; mail addresses and telephone numbers are masked. */
export function maskIdentifier<Identifier extends KindAndId>(identifier: Identifier): Identifier {
  const { kind, id } = identifier
  const names = kind.split('-')
  const parts = id.split('|')
  if (names.length !== parts.length) return { ...identifier, id: maskPart(kind, id) }
  return { ...identifier, id: parts.map((part, index) => maskPart(names[index] ?? '', decodePart(part))).join('|') }
}

function maskPart(kind: string, value: string): string {
  if (kind === 'ip' || kind === 'address') return maskIpAddress(value.replace(/\/\d+$/, ''))
  if (/^\+\d{8,15}$/.test(value)) return maskPhoneNumber(value)
  return value.includes('@') ? maskEmail(value) : value
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Masks an explanation. Keys with personal data are omitted. */
export function maskExplanation(explanation: Explanation): Explanation {
  const { identifier, rules } = explanation
  const masked = maskIdentifier(identifier)
  if (masked.id === identifier.id) return explanation
  const without = (text: string) => text.replaceAll(identifier.id, masked.id)
  return {
    ...explanation,
    identifier: masked,
    rules: rules.map((rule) => ({ ...rule, keys: [], text: without(rule.text) })),
  }
}
