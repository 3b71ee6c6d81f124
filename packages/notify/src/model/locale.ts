import { canonicalLocale } from '@gatehouse/kit'
import { Type } from 'typebox'

/** A language tag in a path: language, script, region and variants (BCP 47), without extensions. */
export const Locale = Type.String({
  maxLength: 100,
  pattern:
    '^[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|[0-9]{3}))?([-_]([A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))?$',
  description: 'A language tag such as en or pt-BR.',
})

/**
 * RFC 4647 §3.4 lookup: the first of `wanted` that is available, each tag shortened from its end (`zh-Hant-TW`,
 * `zh-Hant`, `zh`) before the next is looked at. Undefined when nothing fits: never an unrelated language.
 */
export function lookUpLocale(wanted: readonly string[], available: ReadonlySet<string>): string | undefined {
  for (const range of wanted) {
    let tag = canonicalLocale(range)
    while (tag) {
      if (available.has(tag)) return tag
      tag = shorten(tag)
    }
  }
  return undefined
}

function shorten(tag: string): string | undefined {
  const parts = tag.split('-').slice(0, -1)
  if (parts.at(-1)?.length === 1) parts.pop()
  return parts.length > 0 ? parts.join('-') : undefined
}
