import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { download } from '../../api/call.ts'
import { type Filters, readFilters, useFilters } from '../../api/filters.ts'
import { useMay, useSeesPersonalData } from '../../api/session.tsx'
import { Page } from '../../parts/page.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { AuditList } from './audit-list.tsx'

const names = ['type', 'actor', 'subject', 'client_id', 'address', 'service', 'request_id', 'since', 'until'] as const

/** The audit trail with its filters, which are in the address. */
export function AuditScreen() {
  const t = useTexts()
  const may = useMay()
  const seesPersonalData = useSeesPersonalData()
  const [filters, apply] = useFilters(names)
  const fileName = `audit-events-${new Date().toISOString().slice(0, 10)}.ndjson`
  const exportButton = may('exportAudit') && (
    <Button variant="default" onClick={() => void download('auditEvents.export', { ...filters }, fileName)}>
      {t.audit.export}
    </Button>
  )
  return (
    <Page title={t.sections.audit} lead={t.audit.lead} actions={exportButton}>
      <form
        key={JSON.stringify(filters)}
        className="panel"
        aria-label={t.audit.filters}
        onSubmit={(event) => {
          event.preventDefault()
          apply(withInstants(readFilters(names, event.currentTarget)))
        }}
      >
        <Group align="flex-end" gap="xs">
          <TextInput name="type" label={t.audit.type} defaultValue={filters.type ?? ''} w={150} />
          <TextInput name="actor" label={t.audit.actor} defaultValue={filters.actor ?? ''} w={150} />
          <TextInput name="subject" label={t.audit.subject} defaultValue={filters.subject ?? ''} w={150} />
          <TextInput name="client_id" label={t.audit.client} defaultValue={filters.client_id ?? ''} w={150} />
          {seesPersonalData && (
            <TextInput name="address" label={t.audit.address} defaultValue={filters.address ?? ''} w={150} />
          )}
          <TextInput name="request_id" label={t.audit.request} defaultValue={filters.request_id ?? ''} w={150} />
          <NativeSelect
            name="service"
            label={t.audit.service}
            defaultValue={filters.service ?? ''}
            data={[{ value: '', label: t.audit.everyService }, 'identity', 'notify', 'gateway']}
          />
          <TextInput
            name="since"
            type="datetime-local"
            step={1}
            label={t.audit.since}
            defaultValue={localOf(filters.since)}
          />
          <TextInput
            name="until"
            type="datetime-local"
            step={1}
            label={t.audit.until}
            defaultValue={localOf(filters.until)}
          />
          <Button type="submit">{t.common.search}</Button>
          {Object.keys(filters).length > 0 && (
            <Button variant="subtle" onClick={() => apply({})}>
              {t.common.clear}
            </Button>
          )}
        </Group>
      </form>
      <AuditList filters={filters} />
    </Page>
  )
}

type AuditForm = Filters<(typeof names)[number]>

/** The times of the form, which are local, as instants: an address means the same everywhere. */
function withInstants({ since, until, ...rest }: AuditForm): AuditForm {
  return {
    ...rest,
    ...(since === undefined ? {} : { since: new Date(since).toISOString() }),
    ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
  }
}

/** An instant in local time, as a field takes it; empty for none. */
function localOf(instant: string | undefined): string {
  const at = instant === undefined ? Number.NaN : Date.parse(instant)
  if (Number.isNaN(at)) return ''
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
