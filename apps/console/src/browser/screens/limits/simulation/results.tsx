import { Code, Group, Slider, Stack, Table, Text, Title } from '@mantine/core'
import { lazy, Suspense, useDeferredValue, useEffect, useState } from 'react'
import { Empty } from '../../../parts/states.tsx'
import { State } from '../../../parts/values/values.tsx'
import { useSettings, useTexts } from '../../../texts/settings.tsx'
import { useNumbers } from '../words.tsx'
import { Chart } from './chart.tsx'
import { headersAt, type Simulated } from './simulate.ts'

const Breakdown = lazy(async () => ({ default: (await import('./breakdown-table.tsx')).Breakdown }))

/** What the limits did to the same traffic, beside each other: in all, over time, by route and by caller. */
export function Results({ results }: { results: readonly Simulated[] }) {
  const t = useTexts()
  const total = results[0]?.simulation.arrivals.length ?? 0
  if (total === 0) return <Empty text={t.simulator.noTraffic} />
  return (
    <Stack>
      <Comparison results={results} />
      <div className="traffic-charts">
        {results.map(({ label, simulation, outcome }) => (
          <Chart key={label} label={label} arrivals={simulation.arrivals} decisions={outcome.decisions} />
        ))}
      </div>
      {results.some(({ simulation }) => simulation.limit.declaration.mode === 'hybrid') && (
        <Text size="sm" c="dimmed">
          {t.simulator.hybrid}
        </Text>
      )}
      <Suspense>
        <Breakdown results={results} />
      </Suspense>
      <Instant results={results} />
    </Stack>
  )
}

function Comparison({ results }: { results: readonly Simulated[] }) {
  const t = useTexts()
  const format = useNumbers()
  const { settings } = useSettings()
  const percent = new Intl.NumberFormat(settings.language, { style: 'percent', maximumFractionDigits: 1 })
  const share = (count: number, total: number) => t.simulator.share(format(count), percent.format(count / total))
  const hasShadow = results.some(({ simulation }) => simulation.limit.declaration.shadow !== undefined)
  const rows: readonly (readonly [string, (one: Simulated) => string])[] = [
    [t.simulator.requests, ({ simulation }) => format(simulation.arrivals.length)],
    [t.simulator.admitted, ({ simulation, outcome }) => share(outcome.admitted, simulation.arrivals.length)],
    [t.simulator.rejected, ({ simulation, outcome }) => share(outcome.rejected, simulation.arrivals.length)],
    ...(hasShadow ? [[t.simulator.shadow, (one: Simulated) => format(one.outcome.shadowRejected)] as const] : []),
    [t.simulator.wait, ({ outcome }) => t.simulator.seconds(format(outcome.maxWaitSeconds))],
    [t.simulator.limited, ({ outcome }) => format(outcome.limitedCallers)],
  ]
  return (
    <Table className="differences" aria-label={t.simulator.compare} verticalSpacing={4}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">{t.simulator.measure}</Table.Th>
          {results.map(({ label }) => (
            <Table.Th key={label} scope="col">
              {label}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th scope="row">{name}</Table.Th>
            {results.map((one) => (
              <Table.Td key={one.label}>{value(one)}</Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

/** The headers that one request gets from each limit. */
function Instant({ results }: { results: readonly Simulated[] }) {
  const t = useTexts()
  const format = useNumbers()
  const { settings } = useSettings()
  const arrivals = results[0]?.simulation.arrivals ?? []
  const [index, setIndex] = useState(arrivals.length - 1)
  const at = Math.min(useDeferredValue(index), arrivals.length - 1)
  const arrival = arrivals[at]
  const time = new Intl.DateTimeFormat(settings.language, { timeStyle: 'medium', timeZone: 'UTC' })
  if (arrival === undefined) return null
  return (
    <section aria-label={t.simulator.instant}>
      <Title order={3} size="h6">
        {t.simulator.instant}
      </Title>
      <Slider
        min={0}
        max={Math.max(1, arrivals.length - 1)}
        value={index}
        onChange={setIndex}
        label={null}
        thumbLabel={t.simulator.instant}
        my="sm"
      />
      <Text size="sm" aria-live="polite">
        {time.format(arrival.at)} UTC · {t.simulator.request(format(at + 1), format(arrivals.length), arrival.caller)}
      </Text>
      <div className="traffic-charts">
        {results.map((one) => (
          <Headers key={one.label} of={one} at={at} />
        ))}
      </div>
    </section>
  )
}

function Headers({ of: { label, simulation, outcome }, at }: { of: Simulated; at: number }) {
  const t = useTexts()
  const [headers, setHeaders] = useState<readonly (readonly [name: string, value: string])[]>()
  useEffect(() => {
    const leaving = new AbortController()
    headersAt(simulation, at, leaving.signal).then(
      (found) => setHeaders(Object.entries(found)),
      () => {},
    )
    return () => leaving.abort()
  }, [simulation, at])
  const isAdmitted = outcome.decisions[at] === 1
  return (
    <div>
      <Group gap="xs" mb={4}>
        <Text size="sm" fw={600}>
          {label}
        </Text>
        <State tone={isAdmitted ? 'good' : 'bad'}>
          {isAdmitted ? t.simulator.statusAdmitted : t.simulator.statusRejected}
        </State>
      </Group>
      {headers?.length === 0 ? (
        <Text size="sm">{t.simulator.noHeaders}</Text>
      ) : (
        <Code block>{headers?.map(([name, value]) => `${name}: ${value}`).join('\n')}</Code>
      )}
    </div>
  )
}
