import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { download } from '../../api/call.ts'
import { readFilters, useFilters } from '../../api/filters.ts'
import { useMay } from '../../api/session.tsx'
import { Page } from '../../parts/page.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { AuditList } from './audit-list.tsx'

const names = ['type', 'actor', 'subject', 'client_id', 'service', 'request_id'] as const

/** The audit trail with its filters, which are in the address. */
export function AuditScreen() {
  const t = useTexts()
  const may = useMay()
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
        aria-label={t.audit.filters}
        onSubmit={(event) => {
          event.preventDefault()
          apply(readFilters(names, event.currentTarget))
        }}
      >
        <Group align="flex-end" gap="xs">
          <TextInput name="type" label={t.audit.type} defaultValue={filters.type ?? ''} w={150} />
          <TextInput name="actor" label={t.audit.actor} defaultValue={filters.actor ?? ''} w={150} />
          <TextInput name="subject" label={t.audit.subject} defaultValue={filters.subject ?? ''} w={150} />
          <TextInput name="client_id" label={t.audit.client} defaultValue={filters.client_id ?? ''} w={150} />
          <TextInput name="request_id" label={t.audit.request} defaultValue={filters.request_id ?? ''} w={150} />
          <NativeSelect
            name="service"
            label={t.audit.service}
            defaultValue={filters.service ?? ''}
            data={[{ value: '', label: t.audit.everyService }, 'identity', 'notify', 'gateway']}
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
