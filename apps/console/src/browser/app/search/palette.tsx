import { Spotlight } from '@mantine/spotlight'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { useMay, useSeesPersonalData } from '../../api/session.tsx'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { wordOf } from '../../screens/deliver/word-of.ts'
import { dateLocale, useSettings, useTexts } from '../../texts/settings.tsx'
import { useSections } from '../sections.ts'
import type { Hit } from './search-hits.ts'
import { maxSearchLength, type SearchTarget } from './search-target.ts'
import { type Search, useSearch } from './use-search.ts'

/** A line of the search. */
interface Line {
  readonly id: string
  readonly label: string
  readonly description?: string | undefined
  readonly icon: IconName
  readonly open: () => void
}

/** Search and commands: the sections, and what every service knows of the text. */
export function CommandPalette() {
  const t = useTexts()
  const [text, setText] = useState('')
  const search = useSearch(text)
  const pages = usePages(text)
  const links = useLinks(search.target)
  const results = useResults(search)
  const groups: readonly (readonly [name: string, lines: readonly Line[]])[] = [
    [t.search.pages, pages],
    ...results,
    [t.sections.audit, links],
  ]
  const isEmpty = groups.every(([, lines]) => lines.length === 0)
  const list = useRef<HTMLDivElement>(null)
  const isChosen = useRef(false)
  const shown = groups.flatMap(([, lines]) => lines.map(({ id }) => id)).join(' ')
  // The first line is selected, also where it arrived after others, until a key moves the selection. At once, so that
  // Enter opens what is seen.
  useLayoutEffect(() => {
    if (isChosen.current || text === '' || shown === '') return
    list.current?.querySelector('[data-selected]')?.removeAttribute('data-selected')
    list.current?.querySelector('[data-action]')?.setAttribute('data-selected', 'true')
  }, [text, shown])
  const enter = (query: string) => {
    isChosen.current = false
    setText(query)
  }
  const noteChoice = ({ key }: KeyboardEvent) => {
    isChosen.current ||= key === 'ArrowDown' || key === 'ArrowUp'
  }
  return (
    <Spotlight.Root
      attributes={{ content: { 'aria-label': t.common.search } }}
      query={text}
      onQueryChange={enter}
      shortcut="mod + K"
      scrollable
      maxHeight={480}
    >
      <Spotlight.Search
        placeholder={t.common.searchPlaceholder}
        aria-label={t.common.search}
        autoComplete="off"
        maxLength={maxSearchLength}
        onKeyDown={noteChoice}
        leftSection={<Icon name="search" />}
      />
      <Spotlight.ActionsList ref={list}>
        {groups.map(
          ([name, lines]) =>
            lines.length > 0 && (
              <Spotlight.ActionsGroup key={name} label={name}>
                {lines.map(({ id, label, description, icon, open }) => (
                  <Spotlight.Action
                    key={id}
                    label={label}
                    {...(description === undefined ? {} : { description })}
                    leftSection={<Icon name={icon} />}
                    onClick={open}
                  />
                ))}
              </Spotlight.ActionsGroup>
            ),
        )}
        {isEmpty && <Spotlight.Empty>{t.common.nothingFound}</Spotlight.Empty>}
      </Spotlight.ActionsList>
      <Notes search={search} />
    </Spotlight.Root>
  )
}

/** The sections whose name has the text in it. */
function usePages(text: string): readonly Line[] {
  const t = useTexts()
  const sections = useSections()
  const navigate = useNavigate()
  const wanted = text.trim().toLowerCase()
  return sections
    .filter(({ id }) => t.sections[id].toLowerCase().includes(wanted))
    .map(({ id, path, icon, letter }) => ({
      id,
      label: t.sections[id],
      description: `g ${letter}`,
      icon,
      open: () => void navigate({ to: path }),
    }))
}

function useResults({ found, target }: Search): readonly (readonly [name: string, lines: readonly Line[]])[] {
  const t = useTexts()
  const { settings } = useSettings()
  const navigate = useNavigate()
  const time = target?.kind === 'uuid' ? target.time?.toLocaleString(dateLocale(settings.language)) : undefined
  const labelOf = ({ label, open }: Hit) => (open.to === '/users/$id' ? t.common.openUser(label) : label)
  return found.map(({ source, hits }) => [
    t.search[source.name],
    hits.map((hit) => ({
      id: `${source.name} ${hit.id}`,
      label: labelOf(hit),
      description:
        [hit.description, hit.matched && wordOf(t.search.keyMatched, hit.matched), time].filter(Boolean).join(' · ') ||
        undefined,
      icon: source.icon,
      open: () => void navigate(hit.open as never),
    })),
  ])
}

/** What the text can be a filter of. */
function useLinks(target: SearchTarget | undefined): readonly Line[] {
  const t = useTexts()
  const may = useMay()
  const seesPersonalData = useSeesPersonalData()
  const navigate = useNavigate()
  const line = (id: string, label: string, icon: IconName, to: string, search: object): Line => ({
    id,
    label,
    icon,
    open: () => void navigate({ to, search } as never),
  })
  if (target?.kind === 'address') {
    if (!seesPersonalData) return []
    return [
      may('findSessions') &&
        line('sessions', t.search.sessionsFrom(target.address), 'monitor', '/sessions', { address: target.address }),
      may('readAudit') &&
        line('audit', t.search.auditFrom(target.address), 'list', '/audit', { address: target.address }),
    ].filter((one) => one !== false)
  }
  const id = target?.kind === 'uuid' ? target.id : target?.kind === 'text' ? target.text : undefined
  if (id === undefined || !may('readAudit') || /\s/.test(id)) return []
  return [
    line('audit-about', t.common.filterAuditBy(id), 'list', '/audit', { subject: id }),
    line('audit-request', t.search.auditOf(id), 'list', '/audit', { request_id: id }),
  ]
}

/** What is still awaited, what failed and what is not searched: so that nothing found means nothing. */
function Notes({ search: { target, slow, failed, forbidden } }: { search: Search }) {
  const t = useTexts()
  const may = useMay()
  const named = (names: Search['slow']) => names.map((name) => t.search[name]).join(', ')
  const notes: ReactNode[] = []
  if (target === undefined) notes.push(t.search.hint)
  if (target?.kind === 'too_long') notes.push(t.search.tooLong(target.maxLength))
  if (target?.kind === 'api_key') notes.push(target.key === undefined ? t.search.apiKeyPart : t.search.apiKey)
  if (slow.length > 0) notes.push(t.search.slow(named(slow)))
  if (failed.length > 0) notes.push(t.search.failed(named(failed)))
  const unread = [
    ...forbidden.map((name) => t.search[name]),
    ...(target && !may('readAudit') ? [t.sections.audit] : []),
  ]
  if (unread.length > 0) notes.push(t.search.forbidden(unread.join(', ')))
  return (
    <div className="search-note" role="status">
      {notes.map((note) => (
        <div key={String(note)}>{note}</div>
      ))}
    </div>
  )
}
