import type { TemplateTextSummary } from '@gatehouse/client'
import { Button, Group, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { InputOf } from '../../../actions/index.ts'
import { type Filters, useFilters } from '../../api/filters.ts'
import { usePages, useRead } from '../../api/queries.ts'
import { ranges } from '../../api/range.ts'
import { useMay } from '../../api/session.tsx'
import { ChoiceFilter, TextFilter } from '../../parts/filters/fields.tsx'
import { FilterForm } from '../../parts/filters/filter-form.tsx'
import { Page } from '../../parts/page.tsx'
import { Answer, Empty } from '../../parts/states.tsx'
import { Rows } from '../../parts/table.tsx'
import { State, Time } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { type Share, type Shares, sharesOf } from '../measure/figures.ts'
import { OthersNote } from '../measure/others-note.tsx'
import { useNumber } from '../measure/parts.tsx'
import { buildMatrix, type Cell, channels, countGaps, type MatrixRow } from './matrix.ts'
import { NewText } from './new-text.tsx'

const names = ['q', 'channel', 'locale'] as const

/** The templates: which channel says something in which language, since when and by whom. */
export function TemplatesScreen() {
  const t = useTexts()
  const may = useMay()
  const [filters, apply] = useFilters(names)
  const [open, setOpen] = useState(false)
  const create = may('saveText') ? <Button onClick={() => setOpen(true)}>{t.templates.create}</Button> : undefined
  return (
    <Page title={t.sections.templates} lead={t.templates.lead} actions={create}>
      <FilterForm screen="/templates" names={names} filters={filters} apply={apply}>
        <TextFilter name="q" label={t.templates.template} w={220} />
        <ChoiceFilter name="channel" label={t.templates.channel} every={t.templates.everyChannel} data={channels} />
        <TextFilter name="locale" label={t.templates.locale} w={110} />
      </FilterForm>
      <Matrix filters={filters} />
      <NewText open={open} close={() => setOpen(false)} />
    </Page>
  )
}

type TemplateFilters = Filters<(typeof names)[number]>

function Matrix({ filters }: { filters: TemplateFilters }) {
  const t = useTexts()
  const query = usePages('listTemplates', { ...filters, summary: true, limit: 200 } as InputOf<'listTemplates'>)
  const isFiltered = Object.keys(filters).length > 0
  return (
    <Answer action="listTemplates" query={query}>
      {({ pages }) => {
        const texts = pages.flatMap(({ items }) => items)
        if (texts.length === 0) return <Empty text={isFiltered ? t.states.noMatch : t.templates.empty} />
        const [first] = pages as unknown as readonly { readonly default_locale: string }[]
        return (
          <>
            <MatrixTable rows={buildMatrix(texts, first?.default_locale ?? 'en')} />
            {query.hasNextPage && (
              <Group justify="center">
                <Button variant="default" loading={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
                  {t.common.more}
                </Button>
              </Group>
            )}
          </>
        )
      }}
    </Answer>
  )
}

function MatrixTable({ rows }: { rows: readonly MatrixRow[] }) {
  const t = useTexts()
  const own = rows.filter(({ isReserved }) => !isReserved)
  const reserved = rows.filter(({ isReserved }) => isReserved)
  const incomplete = useIncomplete()
  return (
    <Stack>
      {own.length > 0 && <MatrixRows label={t.sections.templates} rows={own} />}
      {reserved.length > 0 && (
        <details className="panel" open={own.length === 0}>
          <summary>{t.templates.reservedTitle(reserved.length)}</summary>
          <Text size="sm" c="dimmed" my="xs">
            {t.templates.reservedText}
          </Text>
          <MatrixRows label={t.templates.reservedTitle(reserved.length)} rows={reserved} />
        </details>
      )}
      {incomplete !== undefined && <OthersNote shares={incomplete} />}
    </Stack>
  )
}

function MatrixRows({ label, rows }: { label: string; rows: readonly MatrixRow[] }) {
  const t = useTexts()
  const incomplete = useIncomplete()
  return (
    <Rows
      label={label}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          label: t.templates.template,
          render: (row) => <TemplateName row={row} incomplete={incomplete?.get(row.id)} />,
        },
        ...channels.map((channel) => ({
          label: t.channels[channel],
          render: ({ id, cells }: MatrixRow) => <Cells id={id} channel={channel} cells={cells[channel]} />,
        })),
        { label: t.templates.changed, render: ({ cells }) => <LastChange cells={Object.values(cells).flat()} /> },
      ]}
    />
  )
}

/** By template the share of its texts of a week whose event lacked a variable; undefined until it is known. */
function useIncomplete(): Shares | undefined {
  const may = useMay()
  const now = Math.floor(Date.now() / ranges['1h'].lengthMs) * ranges['1h'].lengthMs
  const from = new Date(now - ranges['7d'].lengthMs).toISOString()
  const query = useRead('readStats', { measure: 'texts', by: 'template', from, step: 86_400 }, may('readStats'))
  return useMemo(
    () => query.data && sharesOf(query.data, 'template', ({ result }) => result === 'incomplete'),
    [query.data],
  )
}

function TemplateName({ row, incomplete }: { row: MatrixRow; incomplete: Share | undefined }) {
  const t = useTexts()
  const percent = useNumber({ style: 'percent', maximumFractionDigits: 1 })
  const gaps = countGaps(row)
  return (
    <Stack gap={4} align="flex-start">
      <strong>{row.id}</strong>
      {gaps > 0 && <State tone="careful">{t.templates.gaps(gaps)}</State>}
      {incomplete?.share !== undefined && incomplete.share > 0 && (
        <State tone="bad">{t.templates.incomplete(percent(incomplete.share))}</State>
      )}
    </Stack>
  )
}

function Cells({ id, channel, cells }: { id: string; channel: string; cells: readonly Cell[] }) {
  const t = useTexts()
  if (cells.length === 0) return <span className="dim">–</span>
  return (
    <Group gap={6}>
      {cells.map((cell) => (
        <Link
          key={cell.locale}
          to="/templates/$id/$channel/$locale"
          params={{ id, channel, locale: cell.locale }}
          search={cell.text === undefined && cell.used !== undefined ? { from: `${channel}/${cell.used}` } : {}}
          className={cell.text === undefined ? 'text-cell gap' : cell.text.published ? 'text-cell' : 'text-cell draft'}
        >
          <span>{cell.locale}</span>
          <small>{describeCell(cell, t.templates)}</small>
        </Link>
      ))}
    </Group>
  )
}

type Words = ReturnType<typeof useTexts>['templates']

function describeCell(cell: Cell, t: Words): string {
  if (cell.text === undefined) return cell.used === undefined ? t.nothing : t.uses(cell.used)
  const { version, latest = version, published } = cell.text
  if (!published) return t.draft
  return latest > version ? t.versionAndDraft(version) : t.version(version)
}

function LastChange({ cells }: { cells: readonly Cell[] }) {
  const t = useTexts()
  const [last] = cells
    .map(({ text }) => text)
    .filter((text): text is TemplateTextSummary & { created_at: string } => text?.created_at !== undefined)
    .sort((a, b) => (a.created_at < b.created_at ? 1 : -1))
  if (last === undefined) return <span className="dim">{t.templates.ofProgram}</span>
  return (
    <Stack gap={0}>
      <Time at={last.created_at} />
      <Text size="xs" c="dimmed">
        {last.created_by ?? t.templates.ofFile}
      </Text>
    </Stack>
  )
}
