import { Spotlight, type SpotlightActionData } from '@mantine/spotlight'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useMay } from '../api/session.tsx'
import { Icon } from '../parts/icon.tsx'
import { useSettings, useTexts } from '../texts/settings.tsx'
import { classifySearch, timeOfUuid } from './search-target.ts'
import { useSections } from './sections.ts'

/** Search and commands: the sections, and what the text can be the id of. */
export function CommandPalette() {
  const t = useTexts()
  const [text, setText] = useState('')
  const sections = useSections()
  const navigate = useNavigate()
  const found = useTargets(text)
  const wanted = text.trim().toLowerCase()
  const pages = sections
    .filter(({ id }) => t.sections[id].toLowerCase().includes(wanted))
    .map(({ id, path, icon, letter }) => ({
      id,
      label: t.sections[id],
      description: `g ${letter}`,
      leftSection: <Icon name={icon} />,
      onClick: () => void navigate({ to: path }),
    }))
  return (
    <Spotlight
      attributes={{ content: { 'aria-label': t.common.search } }}
      actions={[...pages, ...found]}
      filter={(_query, actions) => actions}
      query={text}
      onQueryChange={setText}
      nothingFound={t.common.nothingFound}
      shortcut="mod + K"
      searchProps={{
        placeholder: t.common.searchPlaceholder,
        'aria-label': t.common.search,
        leftSection: <Icon name="search" />,
      }}
    />
  )
}

function useTargets(text: string): SpotlightActionData[] {
  const t = useTexts()
  const { settings } = useSettings()
  const may = useMay()
  const navigate = useNavigate()
  const kind = classifySearch(text)
  const id = text.trim()
  if (kind === undefined) return []
  const time = kind === 'uuid' ? timeOfUuid(id) : undefined
  const notification = may('readNotification') && {
    id: 'notification-by-id',
    label: t.common.openNotification(id),
    ...(time === undefined ? {} : { description: time.toLocaleString(settings.language) }),
    leftSection: <Icon name="bell" />,
    onClick: () => void navigate({ to: '/notifications/$id', params: { id } }),
  }
  const user = may('readUser') && {
    id: 'user-by-id',
    label: t.common.openUser(id),
    leftSection: <Icon name="users" />,
    onClick: () => void navigate({ to: '/users/$id', params: { id } }),
  }
  const client = may('readClient') && {
    id: 'client-by-id',
    label: t.common.openClient(id),
    leftSection: <Icon name="app" />,
    onClick: () => void navigate({ to: '/clients/$id', params: { id } }),
  }
  const audit = may('readAudit') && {
    id: 'audit-by-id',
    label: t.common.filterAuditBy(id),
    leftSection: <Icon name="list" />,
    onClick: () => void navigate({ to: '/audit', search: { subject: id } }),
  }
  const targets = kind === 'uuid' ? [notification, user, audit] : [user, client, audit]
  return targets.filter((target) => target !== false)
}
