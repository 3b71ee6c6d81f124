import { maskEmail, maskIpAddress, maskPhoneNumber } from '@gatehouse/kit'
import type { explanationTold } from './limit-responses.ts'

type Explanation = ReturnType<typeof explanationTold>

interface Named {
  readonly kind: string
  readonly id: string
}

/** An identifier without personal data: addresses as their network, accounts that are called by a mail address or a telephone number masked. */
export function maskedIdentifier<Identifier extends Named>(identifier: Identifier): Identifier {
  const { kind, id } = identifier
  const names = kind.split('-')
  const parts = id.split('|')
  if (names.length !== parts.length) return { ...identifier, id: maskedPart(kind, id) }
  return { ...identifier, id: parts.map((part, index) => maskedPart(names[index] ?? '', decoded(part))).join('|') }
}

function maskedPart(kind: string, value: string): string {
  if (kind === 'ip' || kind === 'address') return maskIpAddress(value.replace(/\/\d+$/, ''))
  if (/^\+\d{8,15}$/.test(value)) return maskPhoneNumber(value)
  return value.includes('@') ? maskEmail(value) : value
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Where a limit is counted; the keys are left out where they are made of personal data. */
export function maskedExplanation(explanation: Explanation): Explanation {
  const { identifier, rules } = explanation
  const masked = maskedIdentifier(identifier)
  if (masked.id === identifier.id) return explanation
  const without = (text: string) => text.replaceAll(identifier.id, masked.id)
  return {
    ...explanation,
    identifier: masked,
    rules: rules.map((rule) => ({ ...rule, keys: [], text: without(rule.text) })),
  }
}
