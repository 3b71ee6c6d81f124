/**
 * `{{ actors | names: 2 }}`: "Ann, Bob and 3 others", joined as the locale joins a list and counted as it counts. `most`
 * is how many are named; `total`, how many there are where the list holds but the first of them.
 */
export function listNames(list: unknown, maxListed: unknown, locale: string, total?: unknown): string {
  const names = (Array.isArray(list) ? list : [list]).map(String)
  const shown = names.slice(0, typeof maxListed === 'number' && maxListed > 0 ? maxListed : names.length)
  const others = (typeof total === 'number' ? Math.max(total, names.length) : names.length) - shown.length
  return listFormat(locale).format(others > 0 ? [...shown, othersIn(locale, others)] : shown)
}

/** English as the specification writes it, without a comma before "and". */
function listFormat(locale: string): Intl.ListFormat {
  return new Intl.ListFormat(/^en(-US)?$/.test(locale) ? 'en-GB' : locale, { type: 'conjunction' })
}

const otherWords: Readonly<Record<string, Partial<Record<Intl.LDMLPluralRule, string>>>> = {
  en: { one: 'other', other: 'others' },
  de: { one: 'weitere Person', other: 'weitere' },
  fr: { one: 'autre personne', other: 'autres' },
  es: { one: 'persona más', other: 'personas más' },
  it: { one: 'altra persona', other: 'altre persone' },
  pt: { one: 'outra pessoa', other: 'outras pessoas' },
  nl: { one: 'ander', other: 'anderen' },
}

/** "3 others" in the locale; where the words aren't known the number alone, which is never wrong. */
function othersIn(locale: string, count: number): string {
  const words = otherWords[locale.split('-', 1)[0] ?? '']
  const number = new Intl.NumberFormat(locale).format(count)
  if (!words) return `+${number}`
  return `${number} ${words[new Intl.PluralRules(locale).select(count)] ?? words.other}`
}
