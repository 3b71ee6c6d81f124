import type { ApiKey } from '@gatehouse/client'
import { Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { usePages } from '../../../api/queries.ts'
import { Act } from '../../../parts/changes/act.tsx'
import { type Column, List } from '../../../parts/table.tsx'
import { State, Time, Words } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { LastUse } from '../clients/clients.tsx'
import { Renew } from '../renew.tsx'
import { type KeyMark, marksOf } from './key-marks.ts'

interface KeyListProps {
  readonly filters: { readonly owner?: string; readonly q?: string }
  /** What is shown instead of no keys. */
  readonly empty: ReactNode
  /** Called with the new key when one was rotated. */
  readonly onKey: (key: string | undefined) => void
}

/** API keys with what can be done about each. */
export function KeyList({ filters, empty, onKey }: KeyListProps) {
  const t = useTexts()
  const query = usePages('listApiKeys', filters)
  return (
    <List
      action="listApiKeys"
      query={query}
      label={t.sections.apiKeys}
      keyOf={({ id }) => id}
      empty={empty}
      columns={useColumns(onKey)}
    />
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
      render: ({ etag, ...value }) => {
        const { id, name } = value
        const shown = { value, etag }
        return (
          <>
            <Renew
              action="rotateApiKey"
              id={id}
              shown={shown}
              word={name}
              label={t.apiKeys.rotate}
              onDone={(answer) => onKey(answer.key)}
            />
            <Act
              action="revokeApiKey"
              input={{ id }}
              shown={shown}
              label={t.apiKeys.revoke}
              about={name}
              text={t.apiKeys.revokeText}
              word={name}
              done={t.apiKeys.revoked}
            />
          </>
        )
      },
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
