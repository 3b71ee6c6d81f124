import { NativeSelect, TextInput } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Loading } from '../../../parts/states.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { RecordedFields } from './recorded-fields.tsx'
import type { StoreState } from './simulate.ts'
import type { Traffic } from './traffic.ts'

const PastedFields = lazy(async () => ({ default: (await import('./pasted-fields.tsx')).PastedFields }))

interface TrafficFieldsProps {
  readonly traffic: Traffic
  readonly onTraffic: (traffic: Traffic) => void
  readonly callers: number
  readonly onCallers: (callers: number) => void
  readonly store: StoreState
  readonly onStore: (store: StoreState) => void
  readonly gateways: number
  readonly onGateways: (gateways: number) => void
}

/** What each kind of traffic begins with. */
const beginnings: { readonly [Kind in Traffic['kind']]: Traffic } = {
  steady: { kind: 'steady', perMinute: 15, minutes: 10 },
  burst: { kind: 'burst', size: 20, everySeconds: 60, minutes: 10 },
  ramp: { kind: 'ramp', from: 1, to: 30, minutes: 20 },
  office: { kind: 'office', peakPerMinute: 20 },
  pasted: { kind: 'pasted', text: '' },
  recorded: { kind: 'recorded', minutes: [] },
}

const maxima = { perMinute: 100_000, minutes: 1_440, size: 10_000, everySeconds: 3_600, from: 100_000, to: 100_000 }

/** The traffic, who sends it, and whether the counter store answers. */
export function TrafficFields(props: TrafficFieldsProps) {
  const t = useTexts()
  const { traffic, onTraffic, callers, onCallers, store, onStore, gateways, onGateways } = props
  const numbers = Object.entries(traffic).filter((entry): entry is [NumberName, number] => typeof entry[1] === 'number')
  return (
    <div className="fields">
      <NativeSelect
        label={t.simulator.traffic}
        value={traffic.kind}
        onChange={({ currentTarget }) => onTraffic(beginnings[currentTarget.value as Traffic['kind']])}
        data={Object.entries(t.simulator.kinds).map(([value, label]) => ({ value, label }))}
      />
      {numbers.map(([name, value]) => (
        <Whole
          key={name}
          label={t.simulator[name]}
          value={value}
          max={name in maxima ? maxima[name as keyof typeof maxima] : 100_000}
          onChange={(next) => onTraffic({ ...traffic, [name]: next } as Traffic)}
        />
      ))}
      {traffic.kind === 'recorded' && (
        <RecordedFields onMinutes={(minutes) => onTraffic({ kind: 'recorded', minutes })} />
      )}
      {traffic.kind === 'pasted' ? (
        <Suspense fallback={<Loading />}>
          <PastedFields text={traffic.text} onText={(text) => onTraffic({ kind: 'pasted', text })} />
        </Suspense>
      ) : (
        <Whole label={t.simulator.callers} value={callers} max={1_000} onChange={onCallers} />
      )}
      <NativeSelect
        label={t.simulator.store}
        value={store}
        onChange={({ currentTarget }) => onStore(currentTarget.value as StoreState)}
        data={Object.entries(t.simulator.stores).map(([value, label]) => ({ value, label }))}
      />
      {store === 'away' && <Whole label={t.simulator.gateways} value={gateways} max={100} onChange={onGateways} />}
    </div>
  )
}

type NumberName = 'perMinute' | 'minutes' | 'size' | 'everySeconds' | 'from' | 'to' | 'peakPerMinute'

interface WholeProps {
  readonly label: string
  readonly value: number
  readonly max: number
  readonly onChange: (value: number) => void
}

/** A whole number from 1 to a maximum. */
function Whole({ label, value, max, onChange }: WholeProps) {
  return (
    <TextInput
      type="number"
      label={label}
      min={1}
      max={max}
      value={value || ''}
      onChange={({ currentTarget }) => onChange(Math.min(max, Math.max(0, Math.floor(Number(currentTarget.value)))))}
      autoComplete="off"
    />
  )
}
