import { Alert, Button, Group, Loader, NativeSelect, Stack, Text, Title } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useFilters } from '../../../api/filters.ts'
import { useTexts } from '../../../texts/settings.tsx'
import { useNumbers } from '../words.tsx'
import { Results } from './results.tsx'
import { type Simulated, type SimulatedLimit, type StoreState, simulate } from './simulate.ts'
import { type Arrival, arrivalsOf, maxArrivals, type Traffic } from './traffic.ts'
import { TrafficFields } from './traffic-fields.tsx'

/** A limit that can be chosen. */
export interface Candidate {
  readonly id: string
  readonly label: string
  readonly limit: SimulatedLimit
}

const steady: Traffic = { kind: 'steady', perMinute: 15, minutes: 10 }

interface SimulatorProps {
  readonly candidates: readonly Candidate[]
  /** The candidate that is compared with the first of the list, or with nothing else to choose. */
  readonly first: string
}

/** Sends traffic past two limits and compares what they do to it. */
export function Simulator({ candidates, first }: SimulatorProps) {
  const t = useTexts()
  const format = useNumbers()
  const [{ id: recorded }] = useFilters(['id'])
  const [traffic, setTraffic] = useState<Traffic>(recorded === undefined ? steady : { kind: 'recorded', minutes: [] })
  const [callers, setCallers] = useState(1)
  const [store, setStore] = useState<StoreState>('there')
  const [gateways, setGateways] = useState(2)
  const [chosen, setChosen] = useState({ one: first, other: candidates[0]?.id ?? first })
  const { run, isRunning, results, fault } = useSimulation()
  const find = (id: string) => candidates.find((one) => one.id === id) ?? candidates[0]
  const start = () =>
    run(async () => {
      const arrivals = await readArrivals(traffic, callers)
      const both = [...new Set([find(chosen.one), find(chosen.other)])].filter((one) => one !== undefined)
      return both.map(({ label, limit }) => ({ label, simulation: { limit, arrivals, store, gateways } }))
    })
  const options = candidates.map(({ id, label }) => ({ value: id, label }))
  return (
    <section className="panel" aria-label={t.simulator.title}>
      <Title order={2} size="h5">
        {t.simulator.title}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {t.simulator.lead}
      </Text>
      <Stack>
        <div className="fields">
          <NativeSelect
            label={t.simulator.compare}
            data={options}
            value={find(chosen.one)?.id}
            onChange={({ currentTarget }) => setChosen({ ...chosen, one: currentTarget.value })}
          />
          <NativeSelect
            label={t.simulator.with}
            data={options}
            value={find(chosen.other)?.id}
            onChange={({ currentTarget }) => setChosen({ ...chosen, other: currentTarget.value })}
          />
        </div>
        <TrafficFields
          traffic={traffic}
          onTraffic={setTraffic}
          callers={callers}
          onCallers={setCallers}
          store={store}
          onStore={setStore}
          gateways={gateways}
          onGateways={setGateways}
        />
        <Group gap="sm">
          <Button onClick={start} disabled={isRunning}>
            {t.simulator.run}
          </Button>
          {isRunning && <Loader size="sm" role="status" aria-label={t.simulator.running} />}
        </Group>
        {fault !== undefined && <Alert color="red">{fault}</Alert>}
        {results?.[0]?.simulation.arrivals.length === maxArrivals && (
          <Alert color="yellow">{t.simulator.capped(format(maxArrivals))}</Alert>
        )}
        {results !== undefined && !isRunning && <Results results={results} />}
      </Stack>
    </section>
  )
}

/** The requests of the traffic. What reads events is loaded when there are some. */
async function readArrivals(traffic: Traffic, callers: number): Promise<readonly Arrival[]> {
  if (traffic.kind !== 'pasted') return arrivalsOf(traffic, callers)
  const { parseEvents } = await import('./events.ts')
  return parseEvents(traffic.text).arrivals
}

type Planned = Omit<Simulated, 'outcome'>

/** Runs simulations one after another; a new one, and leaving the page, end those that run. */
function useSimulation() {
  const running = useRef<AbortController>(undefined)
  const [isRunning, setRunning] = useState(false)
  const [results, setResults] = useState<readonly Simulated[]>()
  const [fault, setFault] = useState<string>()
  useEffect(() => () => running.current?.abort(), [])
  const run = (plan: () => Promise<readonly Planned[]>) => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    setRunning(true)
    setFault(undefined)
    plan()
      .then((planned) => runAll(planned, controller.signal))
      .then(setResults, (error: unknown) => {
        if (!controller.signal.aborted) setFault(error instanceof Error ? error.message : String(error))
      })
      .finally(() => {
        if (!controller.signal.aborted) setRunning(false)
      })
  }
  return { run, isRunning, results, fault }
}

async function runAll(planned: readonly Planned[], signal: AbortSignal): Promise<Simulated[]> {
  const results: Simulated[] = []
  for (const one of planned) results.push({ ...one, outcome: await simulate(one.simulation, signal) })
  return results
}
