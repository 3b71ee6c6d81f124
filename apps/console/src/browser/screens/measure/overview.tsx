import type { LimitStatistics, StatSeries } from '@gatehouse/client'
import { NativeSelect, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { rateOf, useCounters } from '../../api/counters.ts'
import { useFilters } from '../../api/filters.ts'
import { useRead } from '../../api/queries.ts'
import { type Range, useRange } from '../../api/range.ts'
import { useMay } from '../../api/session.tsx'
import { useSections } from '../../app/sections.ts'
import { Chart } from '../../parts/chart/chart.tsx'
import { Page } from '../../parts/page.tsx'
import { Answer } from '../../parts/states.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { useWords } from '../deliver/code-words.ts'
import { Attention } from './attention.tsx'
import { countOf, endedSteps, type Lines, linesOf, momentsOf } from './figures.ts'
import { Figures, RangeChoice, Tile, useNumber } from './parts.tsx'

/** What happens now, and what needs attention. */
export function OverviewScreen() {
  const t = useTexts()
  const may = useMay()
  const [range, choose] = useRange()
  const paths = new Set(useSections().map(({ path }) => path))
  return (
    <Page
      title={t.sections.overview}
      lead={t.overview.lead}
      actions={<RangeChoice value={range.name} onChoose={choose} />}
    >
      <Attention paths={paths} />
      {may('readStats') && <Notifications range={range} />}
      <SignIns range={range} />
      {may('readLimitStatistics') && <Requests range={range} />}
      {may('readStats') && <Latency range={range} />}
    </Page>
  )
}

function Notifications({ range: { from, step } }: { range: Range }) {
  const t = useTexts()
  const outcomes = useRead('readStats', { measure: 'outcomes', by: 'channel', from, step })
  const attempts = useRead('readStats', { measure: 'attempts', by: 'channel', from, step })
  const states = useRead('readStats', { measure: 'states', by: 'channel', from, step })
  const live = useCounters('notify', 'notifications', true)
  const perSecond = useNumber({ maximumFractionDigits: 1 })
  const accepted = rateOf(live, ({ name }) => name === 'notify_outcomes_total')
  return (
    <Answer action="readStats" query={outcomes}>
      {(accepts) => (
        <Answer action="readStats" query={attempts}>
          {(sends) => (
            <Answer action="readStats" query={states}>
              {(reports) => (
                <>
                  <dl className="tiles">
                    <Tile
                      label={t.overview.accepted}
                      value={countOf(accepts, isAccepted)}
                      note={accepted === undefined ? undefined : t.overview.perSecond(perSecond(accepted))}
                    />
                    <Tile label={t.overview.sent} value={countOf(sends, isSent)} />
                    <Tile label={t.overview.delivered} value={countOf(reports, isDelivered)} />
                    <Tile label={t.overview.failed} value={countOf(sends, isDead) + countOf(reports, isBounced)} />
                  </dl>
                  <div className="charts">
                    <ChannelChart title={t.overview.accepted} data={accepts} where={isAccepted} to="/notifications" />
                    <ChannelChart title={t.overview.sent} data={sends} where={isSent} to="/notifications" />
                    <ChannelChart title={t.overview.delivered} data={reports} where={isDelivered} to="/notifications" />
                    <ChannelChart title={t.overview.deadLetters} data={sends} where={isDead} to="/dead-letters" />
                  </div>
                </>
              )}
            </Answer>
          )}
        </Answer>
      )}
    </Answer>
  )
}

const isAccepted = ({ outcome }: Readonly<Record<string, string>>) => outcome === 'queued'
const isSent = ({ result }: Readonly<Record<string, string>>) => result === 'sent'
const isDead = ({ result }: Readonly<Record<string, string>>) => result === 'dead_letter'
const isDelivered = ({ state }: Readonly<Record<string, string>>) => state === 'delivered'
const isBounced = ({ state }: Readonly<Record<string, string>>) => state === 'bounced'

interface ChannelChartProps {
  readonly title: string
  readonly data: StatSeries
  readonly where: NonNullable<Lines['where']>
  /** The list behind a channel. */
  readonly to: string
}

function ChannelChart({ title, data: answer, where, to }: ChannelChartProps) {
  const t = useTexts()
  const words = useWords()
  const data = useMemo(() => endedSteps(answer, Date.now()), [answer])
  const at = useMemo(() => momentsOf(data), [data])
  const series = useMemo(() => {
    const link = (channel: string) => ({ to, search: { channel } })
    return linesOf(data, { by: 'channel', where, name: words.channel, link })
  }, [data, where, to, words])
  return (
    <Figures title={title}>
      {series.length === 0 ? (
        <Text c="dimmed" size="sm">
          {t.measure.nothing}
        </Text>
      ) : (
        <Chart label={title} at={at} series={series} />
      )}
    </Figures>
  )
}

function SignIns({ range: { from, step } }: { range: Range }) {
  const t = useTexts()
  const query = useRead('readSignInStats', { measure: 'sign_ins', by: 'outcome', from, step })
  return (
    <Answer action="readSignInStats" query={query}>
      {(data) => <SignInChart data={data} title={t.overview.signIns} />}
    </Answer>
  )
}

function SignInChart({ data: answer, title }: { data: StatSeries; title: string }) {
  const t = useTexts()
  const data = useMemo(() => endedSteps(answer, Date.now()), [answer])
  const at = useMemo(() => momentsOf(data), [data])
  const series = useMemo(
    () =>
      linesOf(data, {
        by: 'outcome',
        name: (outcome) => t.overview.outcomes[outcome as keyof typeof t.overview.outcomes] ?? outcome,
        link: (outcome) => (outcome === 'success' ? { to: '/audit', search: { type: 'login' } } : { to: '/audit' }),
      }),
    [data, t],
  )
  return (
    <Figures title={title}>
      {series.length === 0 ? (
        <Text c="dimmed" size="sm">
          {t.overview.noSignIns} <Link to="/start">{t.sections.start}</Link>
        </Text>
      ) : (
        <Chart label={title} at={at} series={series} />
      )}
    </Figures>
  )
}

const highest = (values: readonly (number | null)[]) => {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? undefined : Math.max(...known)
}

/** Requests at the gateway, which keeps seven days. */
function Requests({ range: { name, from } }: { range: Range }) {
  const t = useTexts()
  const query = useRead('readLimitStatistics', { by: 'tier', ...(name === '30d' ? {} : { from }) })
  return (
    <Answer action="readLimitStatistics" query={query}>
      {(data) => <RequestChart data={data} title={name === '30d' ? t.overview.requestsOfHour : t.overview.requests} />}
    </Answer>
  )
}

function RequestChart({ data, title }: { data: LimitStatistics; title: string }) {
  const t = useTexts()
  const at = useMemo(() => momentsOf(data), [data])
  const series = useMemo(
    () =>
      linesOf(data, {
        by: 'outcome',
        name: (outcome) => t.overview.requestOutcomes[outcome as keyof typeof t.overview.requestOutcomes] ?? outcome,
        link: () => ({ to: '/limits/callers', search: {} }),
      }),
    [data, t],
  )
  return (
    <Figures title={title}>
      {series.length === 0 ? (
        <Text c="dimmed" size="sm">
          {t.measure.nothing}
        </Text>
      ) : (
        <Chart label={title} at={at} series={series} />
      )}
    </Figures>
  )
}

/** How long calls of providers take, of one channel at a time. */
function Latency({ range: { from, step } }: { range: Range }) {
  const query = useRead('readStats', { measure: 'latency', by: 'channel', from, step })
  return (
    <Answer action="readStats" query={query}>
      {(data) => <LatencyChart data={data} />}
    </Answer>
  )
}

function LatencyChart({ data }: { data: StatSeries }) {
  const t = useTexts()
  const words = useWords()
  const [filters, apply] = useFilters(['range', 'channel'])
  const channels = [...new Set(data.series.map(({ labels }) => labels.channel ?? ''))].sort()
  const channel = channels.find((name) => name === filters.channel) ?? channels[0]
  const at = useMemo(() => momentsOf(data), [data])
  const series = useMemo(
    () =>
      data.series
        .filter(({ labels }) => labels.channel === channel)
        .map(({ labels: { quantile = '' }, values }) => ({ label: `p${Number(quantile) * 100}`, values })),
    [data, channel],
  )
  const format = useMemo(() => formatSeconds, [])
  return (
    <Figures title={t.overview.latency} note={t.overview.latencyNote}>
      {channel === undefined ? (
        <Text c="dimmed" size="sm">
          {t.measure.nothing}
        </Text>
      ) : (
        <>
          <NativeSelect
            label={t.overview.channel}
            value={channel}
            onChange={({ currentTarget }) => apply({ ...filters, channel: currentTarget.value })}
            data={channels.map((value) => ({ value, label: words.channel(value) }))}
            maw={200}
          />
          <Chart label={t.overview.latency} at={at} series={series} format={format} summary={highest} />
        </>
      )}
    </Figures>
  )
}

function formatSeconds(seconds: number): string {
  return seconds < 1 ? `${Math.round(seconds * 1_000)} ms` : `${seconds.toFixed(1)} s`
}
