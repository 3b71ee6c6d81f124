import { Button } from '@mantine/core'
import { download } from '../../api/call.ts'
import { useFilters } from '../../api/filters.ts'
import { useMay, useSeesPersonalData } from '../../api/session.tsx'
import { ChoiceFilter, TextFilter, TimeFilter } from '../../parts/filters/fields.tsx'
import { FilterForm } from '../../parts/filters/filter-form.tsx'
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
      <FilterForm
        screen="/audit"
        names={names}
        times={['since', 'until']}
        personal={['address']}
        filters={filters}
        apply={apply}
      >
        <TextFilter name="type" label={t.audit.type} w={150} />
        <TextFilter name="actor" label={t.audit.actor} w={150} />
        <TextFilter name="subject" label={t.audit.subject} w={150} />
        <TextFilter name="client_id" label={t.audit.client} w={150} />
        {seesPersonalData && <TextFilter name="address" label={t.audit.address} w={150} />}
        <TextFilter name="request_id" label={t.audit.request} w={150} />
        <ChoiceFilter
          name="service"
          label={t.audit.service}
          every={t.audit.everyService}
          data={['identity', 'notify', 'gateway']}
        />
        <TimeFilter name="since" label={t.audit.since} />
        <TimeFilter name="until" label={t.audit.until} />
      </FilterForm>
      <AuditList filters={filters} />
    </Page>
  )
}
