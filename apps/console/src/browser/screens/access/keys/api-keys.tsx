import { Button } from '@mantine/core'
import { useState } from 'react'
import { useFilters } from '../../../api/filters.ts'
import { useMay, useSession } from '../../../api/session.tsx'
import { useIsKept } from '../../../forms/record-form.ts'
import { ShownOnce } from '../../../forms/shown-once.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { TextFilter } from '../../../parts/filters/fields.tsx'
import { FilterForm } from '../../../parts/filters/filter-form.tsx'
import { Page } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Snippet } from '../../../parts/values/snippet.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { KeyList } from './key-list.tsx'
import { searchFor } from './key-marks.ts'
import { NewKey, newKeyForm } from './new-key.tsx'

const names = ['owner', 'q'] as const

/** The API keys: who owns them, when they were used, until when, and the way to a new one. */
export function ApiKeysScreen() {
  const t = useTexts()
  const may = useMay()
  const [filters, apply] = useFilters(names)
  const isKept = useIsKept(newKeyForm)
  const [open, setOpen] = useState(isKept)
  const [key, setKey] = useState<string>()
  const create = may('createApiKey') ? <Button onClick={() => setOpen(true)}>{t.apiKeys.create}</Button> : undefined
  const isFiltered = Object.keys(filters).length > 0
  return (
    <Page title={t.sections.apiKeys} lead={t.apiKeys.lead} actions={create}>
      {key !== undefined && <FreshKey key={key} secret={key} />}
      <FilterForm
        screen="/api-keys"
        names={names}
        filters={filters}
        apply={({ q, ...others }) => apply({ ...others, ...(q === undefined ? {} : { q: searchFor(q) }) })}
      >
        <TextFilter name="q" label={t.apiKeys.search} className="grow" />
        <TextFilter name="owner" label={t.apiKeys.owner} w={180} />
      </FilterForm>
      <KeyList
        filters={filters}
        empty={<Empty text={isFiltered ? t.states.noMatch : t.apiKeys.empty}>{!isFiltered && create}</Empty>}
        onKey={setKey}
      />
      <Dialog title={t.apiKeys.create} open={open} close={() => setOpen(false)}>
        {open && <NewKey close={() => setOpen(false)} onCreated={setKey} />}
      </Dialog>
    </Page>
  )
}

/** A new key, shown once. */
export function FreshKey({ secret }: { secret: string }) {
  const t = useTexts()
  const { issuer, api_url: baseUrl } = useSession()
  const call = { operation: 'caller.get', input: {} } as const
  return (
    <ShownOnce title={t.apiKeys.created} secret={secret}>
      <Snippet request={{ issuer, baseUrl, credential: { kind: 'api-key' }, call }} />
    </ShownOnce>
  )
}
