import type { ApiKey } from '@gatehouse/client'
import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { readFilters, useFilters } from '../../../api/filters.ts'
import { usePages } from '../../../api/queries.ts'
import { useMay, useSession } from '../../../api/session.tsx'
import { useIsKept } from '../../../forms/record-form.ts'
import { ShownOnce } from '../../../forms/shown-once.tsx'
import { Act } from '../../../parts/act.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Page } from '../../../parts/page.tsx'
import { Snippet } from '../../../parts/snippet.tsx'
import { Empty } from '../../../parts/states.tsx'
import { type Column, List } from '../../../parts/table.tsx'
import { State, Time, Words } from '../../../parts/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { LastUse } from '../clients/clients.tsx'
import { Renew } from '../renew.tsx'
import { type KeyMark, marksOf, searchFor } from './key-marks.ts'
import { NewKey, newKeyForm } from './new-key.tsx'

const names = ['owner', 'q'] as const

/** The API keys: who owns them, when they were used, until when, and the way to a new one. */
export function ApiKeysScreen() {
  const t = useTexts()
  const may = useMay()
  const [filters] = useFilters(names)
  const isKept = useIsKept(newKeyForm)
  const [open, setOpen] = useState(isKept)
  const [key, setKey] = useState<string>()
  const query = usePages('listApiKeys', filters)
  const columns = useColumns(setKey)
  const create = may('createApiKey') ? <Button onClick={() => setOpen(true)}>{t.apiKeys.create}</Button> : undefined
  const isFiltered = Object.keys(filters).length > 0
  return (
    <Page title={t.sections.apiKeys} lead={t.apiKeys.lead} actions={create}>
      {key !== undefined && <FreshKey key={key} secret={key} />}
      <KeyFilters />
      <List
        action="listApiKeys"
        query={query}
        label={t.sections.apiKeys}
        keyOf={({ id }) => id}
        empty={<Empty text={isFiltered ? t.states.noMatch : t.apiKeys.empty}>{!isFiltered && create}</Empty>}
        columns={columns}
      />
      <Dialog title={t.apiKeys.create} open={open} close={() => setOpen(false)}>
        {open && <NewKey close={() => setOpen(false)} onCreated={setKey} />}
      </Dialog>
    </Page>
  )
}

function FreshKey({ secret }: { secret: string }) {
  const t = useTexts()
  const { issuer, api_url: baseUrl } = useSession()
  const call = { operation: 'caller.get', input: {} } as const
  return (
    <ShownOnce title={t.apiKeys.created} secret={secret}>
      <Snippet request={{ issuer, baseUrl, credential: { kind: 'api-key' }, call }} />
    </ShownOnce>
  )
}

function KeyFilters() {
  const t = useTexts()
  const [filters, apply] = useFilters(names)
  return (
    <form
      key={JSON.stringify(filters)}
      aria-label={t.apiKeys.filters}
      onSubmit={(event) => {
        event.preventDefault()
        const { q, ...others } = readFilters(names, event.currentTarget)
        apply({ ...others, ...(q === undefined ? {} : { q: searchFor(q) }) })
      }}
    >
      <Group align="flex-end" gap="xs">
        <TextInput name="q" label={t.apiKeys.search} defaultValue={filters.q ?? ''} className="grow" />
        <TextInput name="owner" label={t.apiKeys.owner} defaultValue={filters.owner ?? ''} w={180} />
        <Button type="submit" variant="default">
          {t.common.search}
        </Button>
        {Object.keys(filters).length > 0 && (
          <Button variant="subtle" onClick={() => apply({})}>
            {t.common.clear}
          </Button>
        )}
      </Group>
    </form>
  )
}

function useColumns(onKey: (key: string | undefined) => void): readonly Column<ApiKey>[] {
  const t = useTexts()
  return [
    {
      label: t.apiKeys.name,
      render: (key) => (
        <Stack gap={2}>
          <span>{key.name}</span>
          <code className="small">{key.prefix}…</code>
        </Stack>
      ),
    },
    { label: t.apiKeys.owner, render: ({ owner }) => owner },
    { label: t.apiKeys.scopes, render: ({ scopes }) => <Words values={scopes} /> },
    { label: t.apiKeys.plan, render: ({ plan }) => plan ?? <span className="dim">{t.apiKeys.ownersPlan}</span> },
    { label: t.clients.lastUsed, render: (key) => <LastUse at={key.last_used_at} /> },
    { label: t.apiKeys.expires, render: (key) => <Expiry apiKey={key} /> },
    {
      label: t.common.actions,
      isAction: true,
      render: ({ id, name }) => (
        <>
          <Renew
            action="rotateApiKey"
            id={id}
            word={name}
            label={t.apiKeys.rotate}
            onDone={(answer) => onKey(answer.key)}
          />
          <Act
            action="revokeApiKey"
            input={{ id }}
            label={t.apiKeys.revoke}
            about={name}
            text={t.apiKeys.revokeText}
            word={name}
            done={t.apiKeys.revoked}
          />
        </>
      ),
    },
  ]
}

const tones: Readonly<Record<KeyMark, 'careful' | 'bad'>> = {
  unused: 'careful',
  noExpiry: 'careful',
  expired: 'bad',
  twoKeys: 'careful',
}

function Expiry({ apiKey }: { apiKey: ApiKey }) {
  const t = useTexts()
  return (
    <Stack gap={4} align="flex-start">
      <Time at={apiKey.expires_at} />
      {marksOf(apiKey, Date.now()).map((mark) => (
        <State key={mark} tone={tones[mark]}>
          {t.apiKeys.marks[mark]}
        </State>
      ))}
    </Stack>
  )
}
