import { Checkbox, Group, NativeSelect, Stack, Switch, TextInput } from '@mantine/core'
import { useRead } from '../../api/queries.ts'
import { useTexts } from '../../texts/settings.tsx'
import { type EventTypeForm, priorities, trackings } from './event-type-form.ts'
import { type Channel, channels } from './matrix.ts'

interface EventTypeFieldsProps {
  readonly event: string
  readonly form: EventTypeForm
  readonly change: (form: EventTypeForm) => void
  /** What the API refused, by field. */
  readonly faults: Readonly<Record<string, string>>
  readonly readOnly: boolean
}

/** The fields of an event type. */
export function EventTypeFields({ event, form, change, faults, readOnly }: EventTypeFieldsProps) {
  const t = useTexts()
  const set = (part: Partial<EventTypeForm>) => change({ ...form, ...part })
  const templates = useRead('listTemplates', { summary: true, limit: 200 })
  // An event type may not name the template of a reserved one.
  const own = (templates.data?.items ?? []).filter(({ reserved }) => reserved !== true)
  const known = [...new Set(own.map(({ template_id: id }) => id))]
  const words = t.eventTypes
  return (
    <fieldset className="plain" disabled={readOnly}>
      <Stack gap="md">
        <TextInput
          label={words.title}
          description={words.titleHelp}
          value={form.title}
          onChange={({ currentTarget }) => set({ title: currentTarget.value })}
          maxLength={200}
          error={faults.title}
        />
        <div className="columns">
          <NativeSelect
            label={words.priority}
            description={words.priorityHelp}
            value={form.priority}
            onChange={({ currentTarget }) => set({ priority: currentTarget.value })}
            data={priorities.map((value) => ({ value, label: t.priorities[value] }))}
            error={faults.priority}
          />
          <TextInput
            label={words.template}
            description={words.templateHelp}
            value={form.template_id}
            placeholder={event}
            list="known-templates"
            onChange={({ currentTarget }) => set({ template_id: currentTarget.value })}
            maxLength={200}
            error={faults.template_id}
          />
        </div>
        <datalist id="known-templates">
          {known.map((id) => (
            <option key={id} value={id} />
          ))}
        </datalist>
        <Checkbox.Group
          label={words.channels}
          description={words.channelsHelp}
          value={[...form.channels]}
          onChange={(chosen) => set({ channels: chosen })}
          error={faults.channels}
        >
          <Group mt="xs">
            {channels.map((channel) => (
              <Checkbox key={channel} value={channel} label={t.channels[channel]} />
            ))}
          </Group>
        </Checkbox.Group>
        <Aggregation form={form} set={set} faults={faults} />
        <Limits form={form} set={set} faults={faults} />
        <Tracking form={form} set={set} />
        <Switch
          label={words.sensitive}
          description={words.sensitiveHelp}
          checked={form.sensitive}
          onChange={({ currentTarget }) => set({ sensitive: currentTarget.checked })}
        />
        <NativeSelect
          label={words.failover}
          description={words.failoverHelp}
          value={form.failover}
          onChange={({ currentTarget }) => set({ failover: currentTarget.value })}
          data={[
            { value: '', label: words.byDefault },
            { value: 'true', label: t.common.yes },
            { value: 'false', label: t.common.no },
          ]}
        />
      </Stack>
    </fieldset>
  )
}

interface PartProps {
  readonly form: EventTypeForm
  readonly set: (part: Partial<EventTypeForm>) => void
  readonly faults: Readonly<Record<string, string>>
}

function Aggregation({ form, set, faults }: PartProps) {
  const { eventTypes: words } = useTexts()
  return (
    <Stack gap="xs">
      <Switch
        label={words.aggregation}
        description={words.aggregationHelp}
        checked={form.aggregates}
        onChange={({ currentTarget }) => set({ aggregates: currentTarget.checked })}
      />
      {form.aggregates && (
        <div className="columns">
          <TextInput
            type="number"
            label={words.threshold}
            value={form.threshold}
            min={0}
            max={1000}
            onChange={({ currentTarget }) => set({ threshold: currentTarget.value })}
            error={faults.threshold}
          />
          <TextInput
            label={words.actor}
            placeholder="actor.name"
            value={form.actor}
            required
            maxLength={200}
            onChange={({ currentTarget }) => set({ actor: currentTarget.value })}
            error={faults.actor}
          />
        </div>
      )}
    </Stack>
  )
}

function Limits({ form, set, faults }: PartProps) {
  const { eventTypes: words } = useTexts()
  return (
    <Stack gap="xs">
      <Switch
        label={words.rate}
        description={words.rateHelp}
        checked={form.limits}
        onChange={({ currentTarget }) => set({ limits: currentTarget.checked })}
      />
      {form.limits && (
        <div className="columns">
          <TextInput
            type="number"
            label={words.limit}
            value={form.limit}
            min={1}
            required
            onChange={({ currentTarget }) => set({ limit: currentTarget.value })}
            error={faults.limit}
          />
          <TextInput
            type="number"
            label={words.perSeconds}
            value={form.per_seconds}
            min={1}
            max={86_400}
            required
            onChange={({ currentTarget }) => set({ per_seconds: currentTarget.value })}
            error={faults.per_seconds}
          />
        </div>
      )}
      <TextInput
        type="number"
        label={words.ttl}
        description={words.ttlHelp}
        value={form.ttl_seconds}
        min={1}
        max={31_536_000}
        onChange={({ currentTarget }) => set({ ttl_seconds: currentTarget.value })}
        error={faults.ttl_seconds}
      />
    </Stack>
  )
}

function Tracking({ form, set }: Omit<PartProps, 'faults'>) {
  const t = useTexts()
  const { eventTypes: words } = t
  const choose = (channel: Channel, level: string) => set({ tracking: { ...form.tracking, [channel]: level } })
  return (
    <fieldset className="plain">
      <legend>{words.tracking}</legend>
      <Group gap="sm" align="flex-start">
        {channels.map((channel) => (
          <NativeSelect
            key={channel}
            label={t.channels[channel]}
            value={form.tracking[channel]}
            onChange={({ currentTarget }) => choose(channel, currentTarget.value)}
            data={trackings.map((value) => ({ value, label: t.trackings[value] }))}
          />
        ))}
      </Group>
    </fieldset>
  )
}
