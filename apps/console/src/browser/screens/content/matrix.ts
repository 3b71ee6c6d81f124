import type { TemplateTextSummary } from '@gatehouse/client'

/** The channels in the order of the columns. */
export const channels = ['push', 'email', 'sms', 'in-app'] as const
/** A channel. */
export type Channel = (typeof channels)[number]

/** What there is of one channel in one locale: a text, or what would be used in its place. */
export type Cell =
  | { readonly locale: string; readonly text: TemplateTextSummary }
  | { readonly locale: string; readonly text?: undefined; readonly used: string | undefined }

/** A template with its texts by channel. */
export interface MatrixRow {
  readonly id: string
  readonly isReserved: boolean
  readonly cells: Readonly<Record<Channel, readonly Cell[]>>
}

/**
 * The templates, their channels and locales. A channel that has texts has a cell for each locale of the template: where
 * one is missing, it names the locale whose text would be used.
 */
export function buildMatrix(texts: readonly TemplateTextSummary[], defaultLocale: string): MatrixRow[] {
  return [...Map.groupBy(texts, ({ template_id: id }) => id)].map(([id, ofTemplate]) => {
    const locales = [...new Set(ofTemplate.map(({ locale }) => locale))].sort()
    const cellsOf = (channel: Channel): Cell[] => {
      const own = ofTemplate.filter((text) => text.channel === channel)
      const published = own.filter((text) => text.published).map(({ locale }) => locale)
      if (own.length === 0) return []
      return locales.map((locale) => {
        const text = own.find((each) => each.locale === locale)
        return text === undefined ? { locale, used: usedLocale(locale, published, defaultLocale) } : { locale, text }
      })
    }
    const cells = {
      push: cellsOf('push'),
      email: cellsOf('email'),
      sms: cellsOf('sms'),
      'in-app': cellsOf('in-app'),
    }
    return { id, isReserved: ofTemplate.some(({ reserved }) => reserved === true), cells }
  })
}

/** The locale whose text a user of another one gets (RFC 4647 §3.4), undefined where there is none. */
export function usedLocale(locale: string, published: readonly string[], defaultLocale: string): string | undefined {
  return [...ranges(locale), ...ranges(defaultLocale)].find((range) => published.includes(range))
}

function ranges(locale: string): string[] {
  const parts = locale.split('-')
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('-'))
}

/** How many locales a channel lacks. */
export function countGaps({ cells }: MatrixRow): number {
  return channels.reduce((sum, channel) => sum + cells[channel].filter(({ text }) => text === undefined).length, 0)
}
