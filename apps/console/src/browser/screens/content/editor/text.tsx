import { Group, NativeSelect } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useFilters } from '../../../api/filters.ts'
import { useRead } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { Page } from '../../../parts/page.tsx'
import { Answer, Empty } from '../../../parts/states.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { type Channel, channels } from '../matrix.ts'
import { NewText } from '../new-text.tsx'
import type { Place } from './draft.ts'
import { TextEditor } from './editor.tsx'
import { useSource } from './use-source.ts'

/** One text of a template: its words, what people get of them, and its versions. */
export function TextScreen() {
  const t = useTexts()
  const { id, channel, locale } = useParams({ strict: false }) as { id: string; channel: string; locale: string }
  if (!channels.includes(channel as Channel))
    return (
      <Page title={id}>
        <Empty text={t.states.notFound} />
      </Page>
    )
  const place: Place = { template_id: id, channel: channel as Channel, locale }
  return <TextAt key={JSON.stringify(place)} place={place} />
}

function TextAt({ place }: { place: Place }) {
  const t = useTexts()
  const [{ version, from }] = useFilters(['version', 'from'])
  const wanted = /^[1-9]\d{0,8}$/.test(version ?? '') ? Number(version) : undefined
  const query = useSource(place, wanted, placeOf(place.template_id, from))
  const { template_id: id } = place
  const texts = useRead('listTemplates', { q: id, summary: true, limit: 200 })
  const siblings = (texts.data?.items ?? []).filter((text) => text.template_id === id)
  return (
    <Page
      title={id}
      lead={`${t.channels[place.channel]} · ${place.locale}`}
      actions={<PlaceSelect place={place} siblings={siblings} />}
    >
      <Answer action="readText" query={query}>
        {(source) => (
          <TextEditor
            key={`${wanted}`}
            place={place}
            source={source}
            locales={[...new Set(siblings.map(({ locale }) => locale))]}
          />
        )}
      </Answer>
    </Page>
  )
}

/** The place that `channel/locale` in the address names. */
function placeOf(templateId: string, from = ''): Place | undefined {
  const [channel = '', locale = ''] = from.split('/')
  if (!channels.includes(channel as Channel) || locale === '') return undefined
  return { template_id: templateId, channel: channel as Channel, locale }
}

interface PlaceSelectProps {
  readonly place: Place
  readonly siblings: readonly { readonly channel: string; readonly locale: string }[]
}

/** The other texts of the template, and the way to a new one. */
function PlaceSelect({ place, siblings }: PlaceSelectProps) {
  const t = useTexts()
  const may = useMay()
  const navigate = useNavigate()
  const [open, setOpen] = useState(false)
  const here = `${place.channel}/${place.locale}`
  const places = [...new Set([here, ...siblings.map(({ channel, locale }) => `${channel}/${locale}`)])].sort()
  const data = places.map((value) => {
    const [channel = '', locale = ''] = value.split('/')
    return { value, label: `${t.channels[channel as Channel]} · ${locale}` }
  })
  const isNewAllowed = may('saveText')
  const go = (value: string) => {
    if (value === '') return setOpen(true)
    const [channel = '', locale = ''] = value.split('/')
    void navigate({ to: '/templates/$id/$channel/$locale', params: { id: place.template_id, channel, locale } })
  }
  return (
    <Group gap="xs">
      <NativeSelect
        aria-label={t.editor.otherTexts}
        value={here}
        onChange={({ currentTarget }) => go(currentTarget.value)}
        data={[...data, ...(isNewAllowed ? [{ value: '', label: t.editor.newText }] : [])]}
      />
      <NewText open={open} close={() => setOpen(false)} template={place.template_id} from={here} />
    </Group>
  )
}
