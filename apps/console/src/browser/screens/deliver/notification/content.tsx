import type { NotificationContent as Content } from '@gatehouse/client'
import { Group, Stack, Text, Title } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { useRead } from '../../../api/queries.ts'
import { Answer, Empty } from '../../../parts/states.tsx'
import { State } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { useWords } from '../code-words.ts'
import { wordOf } from '../word-of.ts'

/** The mail in a frame of its own, as its program shows it; loaded with the first mail. */
const MailPreview = lazy(async () => ({
  default: (await import('../../content/preview/mail-preview.tsx')).MailPreview,
}))

/** What a notification said on each channel. */
export function NotificationContent({ id }: { id: string }) {
  const t = useTexts()
  const query = useRead('readContent', { id })
  return (
    <Answer action="readContent" query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty text={t.notification.noContent} />
        ) : (
          <div className="cards">
            {items.map((item) => (
              <ContentOfChannel key={item.channel} content={item} />
            ))}
          </div>
        )
      }
    </Answer>
  )
}

function ContentOfChannel({ content }: { content: Content['items'][number] }) {
  const t = useTexts()
  const words = useWords()
  const { channel, template, subject, body, source } = content
  return (
    <Stack component="section" className="panel message" gap="xs">
      <Group gap="sm" justify="space-between">
        <Title order={2}>{words.channel(channel)}</Title>
        <State tone={source === 'rendered_again' ? 'good' : 'neutral'}>
          {wordOf(t.notification.contentSources, source)}
        </State>
      </Group>
      <Text size="xs" c="dimmed">
        {t.notification.template(template.id, template.version, template.locale)}
      </Text>
      {channel === 'email' && body !== undefined ? (
        <Suspense>
          <MailPreview item={{ ...content, body }} />
        </Suspense>
      ) : (
        <>
          {subject !== undefined && <strong>{subject}</strong>}
          {body !== undefined && <p className="message-text">{body}</p>}
        </>
      )}
    </Stack>
  )
}
