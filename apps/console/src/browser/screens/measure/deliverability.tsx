import type { StatSeries } from '@gatehouse/client'
import { Alert } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useRead } from '../../api/queries.ts'
import { useRange } from '../../api/range.ts'
import { Chart } from '../../parts/chart/chart.tsx'
import { Page } from '../../parts/page.tsx'
import { Answer, Empty } from '../../parts/states.tsx'
import { Rows } from '../../parts/table.tsx'
import { State } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { DeadDevices, SmsFailures } from './failures.tsx'
import { complaintTone, countOf, type DomainFigures, domainFigures, linesOf, momentsOf } from './figures.ts'
import { Figures, RangeChoice, useNumber } from './parts.tsx'

const hourSeconds = 3_600

/** Whether messages arrive, by provider and receiving domain. */
export function DeliverabilityScreen() {
  const t = useTexts()
  const [range, choose] = useRange()
  const step = Math.max(hourSeconds, range.step)
  const domains = useRead('readStats', { measure: 'states', by: 'domain', from: range.from, step })
  const attempts = useRead('readStats', { measure: 'attempts', by: 'provider', from: range.from, step: range.step })
  const states = useRead('readStats', { measure: 'states', by: 'provider', from: range.from, step: range.step })
  return (
    <Page
      title={t.sections.deliverability}
      lead={t.deliverability.lead}
      actions={<RangeChoice value={range.name} onChoose={choose} />}
    >
      <Answer action="readStats" query={domains}>
        {(data) => <Domains data={data} />}
      </Answer>
      <Answer action="readStats" query={attempts}>
        {(calls) => (
          <Answer action="readStats" query={states}>
            {(reports) => <Providers calls={calls} reports={reports} />}
          </Answer>
        )}
      </Answer>
      <SmsFailures range={range} />
      <DeadDevices range={range} />
    </Page>
  )
}

function Domains({ data }: { data: StatSeries }) {
  const t = useTexts()
  const words = t.deliverability
  const rows = domainFigures(data)
  const number = useNumber()
  const percent = useNumber({ style: 'percent', maximumFractionDigits: 2 })
  const share = (count: number, { sent }: DomainFigures) =>
    sent === 0 ? number(count) : `${number(count)} (${percent(count / sent)})`
  if (rows.length === 0) return <Empty text={words.empty} />
  const isTracked = rows.some(({ opened, openedByMachine }) => opened + openedByMachine > 0)
  return (
    <Figures title={words.domains} note={words.domainsNote}>
      <Rows
        label={words.domains}
        rows={rows}
        keyOf={({ provider, domain }) => `${provider} ${domain}`}
        columns={[
          { label: words.provider, render: ({ provider }) => provider },
          { label: words.domain, render: ({ domain }) => (domain === 'other' ? words.others : domain) },
          { label: words.sent, render: ({ sent }) => number(sent) },
          { label: words.delivered, render: (row) => share(row.delivered, row) },
          { label: words.bounced, render: (row) => share(row.bounced, row) },
          { label: words.complained, render: (row) => <Complaints row={row} text={share(row.complained, row)} /> },
          { label: words.opened, render: (row) => share(row.opened, row) },
          { label: words.openedByMachine, render: (row) => number(row.openedByMachine) },
        ]}
      />
      {!isTracked && <Alert color="gray">{words.untracked}</Alert>}
    </Figures>
  )
}

/** The share of complaints against the lines at which mailbox providers refuse mail. */
function Complaints({ row, text }: { row: DomainFigures; text: string }) {
  const tone = complaintTone(row)
  return tone === undefined ? text : <State tone={tone}>{text}</State>
}

function Providers({ calls, reports }: { calls: StatSeries; reports: StatSeries }) {
  const t = useTexts()
  const words = t.deliverability
  const number = useNumber()
  const at = useMemo(() => momentsOf(reports), [reports])
  const bounces = useMemo(
    () => linesOf(reports, { by: 'provider', where: ({ state }) => state === 'bounced' }),
    [reports],
  )
  const names = [...new Set([...calls.series, ...reports.series].map(({ labels }) => labels.provider ?? ''))]
    .filter((name) => name !== 'none')
    .sort()
  const count = (data: StatSeries, provider: string, member: 'result' | 'state', value: string) =>
    number(countOf(data, (labels) => labels.provider === provider && labels[member] === value))
  if (names.length === 0) return <Empty text={t.measure.nothing} />
  return (
    <Figures title={words.providers}>
      <Rows
        label={words.providers}
        rows={names}
        keyOf={String}
        columns={[
          { label: words.provider, render: (name) => name },
          { label: words.sent, render: (name) => count(calls, name, 'result', 'sent') },
          { label: words.attemptsFailed, render: (name) => count(calls, name, 'result', 'attempt_failed') },
          {
            label: words.deadLetters,
            render: (name) => <Link to="/dead-letters">{count(calls, name, 'result', 'dead_letter')}</Link>,
          },
          { label: words.delivered, render: (name) => count(reports, name, 'state', 'delivered') },
          { label: words.bounced, render: (name) => count(reports, name, 'state', 'bounced') },
          { label: words.complained, render: (name) => count(reports, name, 'state', 'complained') },
        ]}
      />
      {bounces.length > 0 && <Chart label={words.bouncesOverTime} at={at} series={bounces} />}
    </Figures>
  )
}
