import { TagsInput } from '@mantine/core'
import { useState } from 'react'
import { Rows } from '../../../parts/table.tsx'
import { useTexts } from '../../../texts/settings.tsx'

/** Scopes with what each allows. */
export function ScopeMeanings({ scopes }: { scopes: readonly string[] }) {
  const t = useTexts()
  const meanings: Readonly<Record<string, string>> = t.scopes
  if (scopes.length === 0) return <span className="dim">{t.clients.noScopes}</span>
  return (
    <Rows
      label={t.clients.scopes}
      rows={scopes}
      keyOf={(scope) => scope}
      columns={[
        { label: t.clients.scope, render: (scope) => <code>{scope}</code> },
        {
          label: t.clients.meaning,
          render: (scope) => meanings[scope] ?? <span className="dim">{t.clients.ownScope}</span>,
        },
      ]}
    />
  )
}

/** A field for scopes: those that are known, which are listed once something is typed, and others. */
export function ScopesField({ label, field }: { label: string; field: object }) {
  const t = useTexts()
  const [search, setSearch] = useState('')
  return (
    <TagsInput
      label={label}
      description={t.clients.scopesHelp}
      searchValue={search}
      onSearchChange={setSearch}
      data={search === '' ? [] : Object.keys(t.scopes)}
      splitChars={[' ', ',']}
      acceptValueOnBlur
      {...field}
    />
  )
}
