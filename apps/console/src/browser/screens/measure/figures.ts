import type { StatSeries } from '@gatehouse/client'
import type { Range } from '../../api/range.ts'
import type { Series } from '../../parts/chart/chart.tsx'

type Labels = Readonly<Record<string, string>>
type Values = readonly (number | null)[]

/** The moments of an answer, as a chart takes them. */
export function momentsOf({ at }: StatSeries): number[] {
  return at.map((moment) => Date.parse(moment))
}

/**
 * An answer whose moments end before the step that has not ended yet, which would look like a fall; with it where nothing
 * was counted before. Its values are all there: what was counted in that step is in the sum of a line.
 */
export function endedSteps(answer: StatSeries, now: number): StatSeries {
  const { at, step, series } = answer
  const last = at.at(-1)
  const isRunning = last !== undefined && Date.parse(last) + step * 1_000 > now
  const hasMore = series.some(({ values }) => totalOf(values.slice(0, -1)) > 0)
  if (!isRunning || !hasMore) return answer
  return { step, at: at.slice(0, -1), series }
}

/** How a line of a chart is made of the series with one value of a label. */
export interface Lines {
  /** The label whose values are the lines. */
  readonly by: string
  readonly where?: (labels: Labels) => boolean
  readonly name?: (value: string) => string
  readonly link?: (value: string) => Series['link']
}

/** The lines of a chart: the series that match, summed by a label, the largest first and at most six. */
export function linesOf(
  { series, at }: StatSeries,
  { by, where = () => true, name = String, link = () => undefined }: Lines,
): Series[] {
  const groups = Map.groupBy(
    series.filter(({ labels }) => where(labels)),
    ({ labels }) => labels[by] ?? '',
  )
  return [...groups]
    .map(([value, some]) => ({ value, some, total: countOf({ series: some }, () => true) }))
    .filter(({ total }) => total > 0)
    .sort((a, b) => b.total - a.total)
    .slice(0, maxLines)
    .map(({ value, some, total }) => {
      const target = link(value)
      return { label: name(value), values: sumValues(some, at.length), total, ...(target && { link: target }) }
    })
}

const maxLines = 6

function sumValues(series: ReadonlyArray<{ readonly values: Values }>, length: number): number[] {
  return Array.from({ length }, (_, place) => series.reduce((sum, { values }) => sum + (values[place] ?? 0), 0))
}

/** The sum of values. */
export function totalOf(values: Values): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
}

/** How much was counted of what matches. */
export function countOf({ series }: Pick<StatSeries, 'series'>, where: (labels: Labels) => boolean): number {
  return series.filter(({ labels }) => where(labels)).reduce((sum, { values }) => sum + totalOf(values), 0)
}

/** How often an SMS of a provider failed with a code. */
export interface CodeFigures {
  readonly provider: string
  readonly code: string
  readonly count: number
}

/** Failures by provider and code, the most frequent first. */
export function codeFigures({ series }: StatSeries): CodeFigures[] {
  return series
    .map(({ labels: { provider = '', code = '' }, values }) => ({ provider, code, count: totalOf(values) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count || a.code.localeCompare(b.code))
}

/** The step of figures of which there are few, in seconds: a day where the range has several, else an hour. */
export function dailyStep({ name }: Pick<Range, 'name'>): number {
  return name === '7d' || name === '30d' ? 86_400 : 3_600
}

/** What was counted of one value of a label, and the share of it that matches. */
export interface Share {
  readonly count: number
  /** Undefined where nothing was counted. */
  readonly share: number | undefined
}

/** The value of a label under which the API counts together what has no series of its own: it answers with 200. */
const otherLabel = 'other'

/** By value of a label what was counted of it, where that is known. */
export type Shares = ReadonlyMap<string, Share>

/**
 * What was counted of a value of a label. Undefined where it may be among the others, which are counted together: that is
 * not the same as nothing.
 */
export function shareOf(shares: Shares, value: string): Share | undefined {
  return shares.get(value) ?? (othersOf(shares) === undefined ? { count: 0, share: undefined } : undefined)
}

/** What was counted together; undefined where everything was counted by itself. */
export function othersOf(shares: Shares): Share | undefined {
  return shares.get(otherLabel)
}

/** By the values of a label, how much was counted, and the share that matches. */
export function sharesOf({ series }: StatSeries, by: string, matches: (labels: Labels) => boolean): Shares {
  const groups = Map.groupBy(series, ({ labels }) => labels[by] ?? '')
  return new Map(
    [...groups].map(([value, some]) => {
      const count = some.reduce((sum, { values }) => sum + totalOf(values), 0)
      const matching = some.filter(({ labels }) => matches(labels))
      const found = matching.reduce((sum, { values }) => sum + totalOf(values), 0)
      return [value, { count, share: count === 0 ? undefined : found / count }]
    }),
  )
}

/** What is known of the mails of a provider to a domain. */
export interface DomainFigures {
  readonly provider: string
  readonly domain: string
  readonly sent: number
  readonly delivered: number
  readonly bounced: number
  readonly complained: number
  readonly opened: number
  readonly openedByMachine: number
}

const members = {
  called: 'sent',
  delivered: 'delivered',
  bounced: 'bounced',
  complained: 'complained',
  opened: 'opened',
  opened_by_machine: 'openedByMachine',
} as const

/** Figures by provider and receiving domain, the most mail first. */
export function domainFigures({ series }: StatSeries): DomainFigures[] {
  const groups = Map.groupBy(series, ({ labels: { provider, domain } }) => `${provider} ${domain}`)
  const none = { sent: 0, delivered: 0, bounced: 0, complained: 0, opened: 0, openedByMachine: 0 }
  return [...groups.values()]
    .map((some) => {
      const { provider = '', domain = '' } = some[0]?.labels ?? {}
      const figures = { provider, domain, ...none }
      for (const { labels, values } of some) {
        const member = members[labels.state as keyof typeof members]
        if (member !== undefined) figures[member] += totalOf(values)
      }
      return figures
    })
    .sort((a, b) => b.sent - a.sent || b.delivered - a.delivered)
}

/** From which share of complaints mailbox providers begin to refuse, and from which they do. */
const complaintLines = { careful: 0.001, bad: 0.003 } as const

/** How many must have been sent before a share says something. */
const minSent = 100

/** How a share of complaints is to be seen; undefined where too little was sent to know. */
export function complaintTone({
  sent,
  complained,
}: Pick<DomainFigures, 'sent' | 'complained'>): 'good' | 'careful' | 'bad' | undefined {
  if (sent < minSent) return undefined
  const share = complained / sent
  if (share >= complaintLines.bad) return 'bad'
  return share >= complaintLines.careful ? 'careful' : 'good'
}
