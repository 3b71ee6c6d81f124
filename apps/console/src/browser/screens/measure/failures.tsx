import type { StatSeries } from '@gatehouse/client'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useRead } from '../../api/queries.ts'
import type { Range } from '../../api/range.ts'
import { Answer, Empty } from '../../parts/states.tsx'
import { Rows } from '../../parts/table.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { codeFigures, countOf, dailyStep, type Lines } from './figures.ts'
import { Counted, Figures, useNumber } from './parts.tsx'

/** Why SMS failed, by the error code of the provider. */
export function SmsFailures({ range }: { range: Range }) {
  const words = useTexts().deliverability
  const query = useRead('readStats', { measure: 'sms_failures', by: 'code', from: range.from, step: dailyStep(range) })
  return (
    <Answer action="readStats" query={query}>
      {(data) => (
        <Figures title={words.smsFailures} note={words.smsFailuresNote}>
          {data.series.length === 0 ? <Empty text={words.noSmsFailure} /> : <Codes data={data} />}
        </Figures>
      )}
    </Answer>
  )
}

function Codes({ data }: { data: StatSeries }) {
  const t = useTexts()
  const words = t.deliverability
  const number = useNumber()
  const { smsFailures } = t.codes
  const lines = useMemo<Lines>(
    () => ({ by: 'code', name: (code) => (code === 'other' || code === 'none' ? words.codes[code] : code) }),
    [words],
  )
  const meaningOf = (code: string) => {
    if (code === 'other' || code === 'none') return words.codes[code]
    return Object.hasOwn(smsFailures, code) ? smsFailures[code as keyof typeof smsFailures] : '–'
  }
  return (
    <>
      <Rows
        label={words.smsFailures}
        rows={codeFigures(data)}
        keyOf={({ provider, code }) => `${provider} ${code}`}
        columns={[
          { label: words.code, render: ({ code }) => (/^\d+$/.test(code) ? code : '–') },
          { label: words.meaning, render: ({ code }) => meaningOf(code) },
          { label: words.provider, render: ({ provider }) => <Notifications channel="sms" provider={provider} /> },
          { label: words.count, render: ({ count }) => number(count) },
        ]}
      />
      <Counted title={words.smsFailuresOverTime} data={data} lines={lines} />
    </>
  )
}

/** How many push devices providers no longer know. */
export function DeadDevices({ range }: { range: Range }) {
  const words = useTexts().deliverability
  const query = useRead('readStats', {
    measure: 'dead_devices',
    by: 'provider',
    from: range.from,
    step: dailyStep(range),
  })
  return (
    <Answer action="readStats" query={query}>
      {(data) => (
        <Figures title={words.deadDevices} note={words.deadDevicesNote}>
          {data.series.length === 0 ? <Empty text={words.noDeadDevice} /> : <Devices data={data} />}
        </Figures>
      )}
    </Answer>
  )
}

const byProvider: Lines = { by: 'provider' }

function Devices({ data }: { data: StatSeries }) {
  const words = useTexts().deliverability
  const number = useNumber()
  const names = [...new Set(data.series.map(({ labels }) => labels.provider ?? ''))].sort()
  return (
    <>
      <Rows
        label={words.deadDevices}
        rows={names}
        keyOf={String}
        columns={[
          { label: words.provider, render: (name) => <Notifications channel="push" provider={name} /> },
          { label: words.count, render: (name) => number(countOf(data, ({ provider }) => provider === name)) },
        ]}
      />
      <Counted title={words.deadDevicesOverTime} data={data} lines={byProvider} />
    </>
  )
}

/** The way to the notifications that a provider was called for. */
function Notifications({ channel, provider }: { channel: string; provider: string }) {
  return (
    <Link to="/notifications" search={{ channel, provider }}>
      {provider}
    </Link>
  )
}
