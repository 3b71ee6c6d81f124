import type { Drift, TableSize } from '@gatehouse/client'
import { Button, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { gather, type SystemAnswer, useSystem } from '../../api/system.ts'
import { Answer } from '../../parts/states.tsx'
import { Rows } from '../../parts/table.tsx'
import { State, Time } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { Figures, useNumber } from './parts.tsx'

const fewTables = 10

/** How large the tables are, and how they grow. */
export function Storage() {
  const t = useTexts()
  const query = useSystem('storage')
  return (
    <Figures title={t.system.tables} note={t.system.tablesNote}>
      <Answer action="readStorage" query={query}>
        {(answers) => <Tables answers={answers} />}
      </Answer>
    </Figures>
  )
}

function Tables({ answers }: { answers: SystemAnswer<{ items: readonly TableSize[] }> }) {
  const t = useTexts()
  const words = t.system
  const formatNumber = useNumber({ maximumFractionDigits: 1 })
  const [isOpen, setOpen] = useState(false)
  const tables = distinct(gather(answers, ({ items }) => items)).toSorted((a, b) => b.bytes - a.bytes)
  const size = (bytes: number) => formatSize(bytes, formatNumber)
  return (
    <>
      <Rows
        label={words.tables}
        rows={isOpen ? tables : tables.slice(0, fewTables)}
        keyOf={({ schema, table }) => `${schema}.${table}`}
        columns={[
          { label: words.table, render: ({ schema, table }) => <code>{`${schema}.${table}`}</code> },
          { label: words.size, render: ({ bytes }) => size(bytes) },
          {
            label: words.rows,
            render: ({ rows }) => (rows === undefined ? <span className="dim">–</span> : formatNumber(rows)),
          },
          {
            label: words.growth,
            render: ({ grown }) =>
              grown === undefined ? (
                <span className="dim">{words.unknownGrowth}</span>
              ) : (
                <span>
                  {grown.bytes > 0 ? '+' : ''}
                  {size(grown.bytes)} {words.sinceTime} <Time at={grown.since} />
                </span>
              ),
          },
        ]}
      />
      {tables.length > fewTables && (
        <Button variant="subtle" size="xs" onClick={() => setOpen(!isOpen)}>
          {isOpen ? words.fewer : words.allTables(tables.length)}
        </Button>
      )}
    </>
  )
}

/** Processes that share a database know the same tables. */
function distinct(tables: readonly TableSize[]): TableSize[] {
  return [...new Map(tables.map((table) => [`${table.schema}.${table.table}`, table])).values()]
}

const units = ['kB', 'MB', 'GB', 'TB'] as const

/** A number of bytes in the unit that fits. */
function formatSize(bytes: number, formatNumber: (value: number) => string): string {
  let [value, unit] = [bytes / 1_000, 0]
  while (Math.abs(value) >= 1_000 && unit < units.length - 1) [value, unit] = [value / 1_000, unit + 1]
  return `${formatNumber(value)} ${units[unit]}`
}

/** What administrators changed since the file was applied. */
export function FileDrift() {
  const t = useTexts()
  const query = useSystem('drift')
  return (
    <Figures title={t.system.drift} note={t.system.driftNote}>
      <Answer action="readDrift" query={query}>
        {(answers) => <Differences drift={gather(answers, ({ items }) => items)} />}
      </Answer>
    </Figures>
  )
}

/** The screens of what the file declares. */
const screens: Readonly<Record<string, (id: string) => string>> = {
  client: (id) => `/clients/${encodeURIComponent(id)}`,
  user: (id) => `/users/${encodeURIComponent(id)}`,
  event_type: (id) => `/event-types/${encodeURIComponent(id)}`,
  template: (id) => `/templates/${id}`,
}

function Differences({ drift }: { drift: readonly Drift[] }) {
  const t = useTexts()
  const words = t.system
  const kinds: Readonly<Record<string, string>> = words.kinds
  if (drift.length === 0) return <State tone="good">{words.noDrift}</State>
  return (
    <>
      <Rows
        label={words.drift}
        rows={drift}
        keyOf={({ kind, id }) => `${kind} ${id}`}
        columns={[
          { label: words.kind, render: ({ kind }) => kinds[kind] ?? kind },
          { label: words.name, render: (one) => <DriftLink drift={one} /> },
          { label: words.appliedAt, render: ({ applied_at: at }) => <Time at={at} /> },
          {
            label: words.changedAt,
            render: ({ changed_at: at }) =>
              at === undefined ? <State tone="careful">{words.wasDeleted}</State> : <Time at={at} />,
          },
        ]}
      />
      <Text size="sm">
        <Link to="/limits">{words.limitsDrift}</Link>
      </Text>
    </>
  )
}

function DriftLink({ drift: { kind, id, changed_at: at } }: { drift: Drift }) {
  const screen = screens[kind]
  if (screen === undefined || at === undefined) return <span>{id}</span>
  return <Link to={screen(id)}>{id}</Link>
}
