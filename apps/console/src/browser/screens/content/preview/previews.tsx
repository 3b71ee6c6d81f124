import type { TemplatePreview } from '@gatehouse/client'
import { SegmentedControl, Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Loading } from '../../../parts/states.tsx'
import { State } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import type { Place } from '../editor/draft.ts'
import type { Channel } from '../matrix.ts'
import { InboxPreview } from './inbox-preview.tsx'
import { MailPreview } from './mail-preview.tsx'
import { PhonePreview } from './phone-preview.tsx'
import { SmsPreview } from './sms-preview.tsx'

interface PreviewsProps {
  readonly place: Place
  readonly items: readonly TemplatePreview[]
}

/** What people get of the text that is edited, or of every text of the template. */
export function Previews({ place, items }: PreviewsProps) {
  const t = useTexts()
  const [scope, setScope] = useState('one')
  const current = items.find((item) => isAt(item, place))
  return (
    <Stack component="section" className="panel" gap="sm">
      <div className="preview-head">
        <Title order={2}>{t.preview.title}</Title>
        <SegmentedControl
          size="xs"
          aria-label={t.preview.which}
          value={scope}
          onChange={setScope}
          data={[
            { value: 'one', label: t.preview.thisText },
            { value: 'all', label: t.preview.allTexts(items.length) },
          ]}
        />
      </div>
      {scope === 'all' ? (
        <div className="preview-grid">
          {items.map((item) => (
            <OneOfAll key={`${item.channel} ${item.requested_locale}`} place={place} item={item} />
          ))}
        </div>
      ) : current === undefined ? (
        <Loading />
      ) : (
        <ChannelPreview item={current} />
      )}
    </Stack>
  )
}

function isAt(item: TemplatePreview, { channel, locale }: Place): boolean {
  return item.channel === channel && item.requested_locale === locale
}

/** A text beside the others: its words alone, or whose words are used in its place. */
function OneOfAll({ place, item }: { place: Place; item: TemplatePreview }) {
  const t = useTexts()
  const { channel, requested_locale: wanted, locale, subject, body, missing, faults } = item
  return (
    <article className="preview-card">
      <header>
        <Link
          to="/templates/$id/$channel/$locale"
          params={{ id: place.template_id, channel, locale: wanted }}
          {...(isAt(item, place) ? { 'aria-current': 'page' as const } : {})}
        >
          {t.channels[channel as Channel] ?? channel} · {wanted}
        </Link>{' '}
        {locale !== undefined && locale !== wanted && <State tone="careful">{t.templates.uses(locale)}</State>}
        {missing.length > 0 && <State tone="bad">{t.preview.lacks(missing.length)}</State>}
      </header>
      {faults.map(({ message }) => (
        <Text key={message} size="sm" className="fault">
          ✕ {message}
        </Text>
      ))}
      {subject !== undefined && <strong>{subject}</strong>}
      {body !== undefined && <p>{body}</p>}
    </article>
  )
}

function ChannelPreview({ item }: { item: TemplatePreview }) {
  const t = useTexts()
  if (item.body === undefined) return <Text c="dimmed">{t.preview.faulty}</Text>
  if (item.channel === 'email') return <MailPreview item={item} />
  if (item.channel === 'sms') return <SmsPreview item={item} />
  return item.channel === 'push' ? <PhonePreview item={item} /> : <InboxPreview item={item} />
}
