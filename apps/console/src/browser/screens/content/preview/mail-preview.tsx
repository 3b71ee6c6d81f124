import type { TemplatePreview } from '@gatehouse/client'
import { SegmentedControl, Stack, Switch, Text } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { callConsole } from '../../../api/call.ts'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Facts } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import type { ColourScheme } from './colour-scheme.ts'
import { mailDocument } from './mail-document.ts'

const views = ['wide', 'narrow', 'text', 'headers'] as const
type View = (typeof views)[number]

const widths = { wide: 640, narrow: 360 } as const
const frameHeight = 560

/** A mail as it was rendered, of a draft or of what was sent. */
export type RenderedMail = Pick<TemplatePreview, 'subject' | 'body' | 'html' | 'headers'>

/** A mail as programs show it: wide or narrow, light or dark, with and without pictures, as text, and its header. */
export function MailPreview({ item }: { item: RenderedMail }) {
  const t = useTexts()
  const hasHtml = item.html !== undefined
  const [chosen, choose] = useState<View>('wide')
  const shown = views.filter((each) => {
    if (each === 'headers') return item.headers !== undefined
    return each === 'text' || hasHtml
  })
  const view = shown.find((each) => each === chosen) ?? 'text'
  return (
    <Stack gap="sm">
      <SegmentedControl
        size="xs"
        aria-label={t.preview.view}
        value={view}
        onChange={(next) => choose(next as View)}
        data={shown.map((value) => ({ value, label: t.preview[value] }))}
      />
      <div className="mail-subject">{item.subject}</div>
      {view === 'headers' && <Headers item={item} />}
      {view === 'text' && <pre className="mail-text">{item.body}</pre>}
      {(view === 'wide' || view === 'narrow') && <MailHtml html={item.html ?? ''} width={widths[view]} />}
    </Stack>
  )
}

function Headers({ item }: { item: RenderedMail }) {
  const t = useTexts()
  return (
    <>
      <Facts facts={Object.entries(item.headers ?? {})} />
      <Text size="sm" c="dimmed">
        {t.preview.headersHelp}
      </Text>
    </>
  )
}

function MailHtml({ html, width }: { html: string; width: number }) {
  const t = useTexts()
  const [scheme, setScheme] = useState<ColourScheme>('light')
  const [images, setImages] = useState(true)
  return (
    <>
      <div className="preview-head">
        <SegmentedControl
          size="xs"
          aria-label={t.preview.scheme}
          value={scheme}
          onChange={(next) => setScheme(next as ColourScheme)}
          data={[
            { value: 'light', label: t.settings.light },
            { value: 'dark', label: t.settings.dark },
          ]}
        />
        <Switch
          size="xs"
          label={t.preview.images}
          checked={images}
          onChange={({ currentTarget }) => setImages(currentTarget.checked)}
        />
      </div>
      <MailFrame document={mailDocument(html, { scheme, images })} width={width} />
      <Text size="xs" c="dimmed">
        {t.preview.imagesHelp}
      </Text>
    </>
  )
}

/** The frame, made smaller where there is less room than the mail has in its program. */
function MailFrame({ document, width }: { document: string; width: number }) {
  const t = useTexts()
  const { ref, width: room } = useElementSize()
  const query = useQuery({
    queryKey: ['mail preview', document],
    queryFn: ({ signal }) => callConsole<{ id: string }>('POST', '/preview', signal, { body: { html: document } }),
    // The server keeps it for a minute: whoever comes back gets another one.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
  const scale = room === 0 ? 1 : Math.min(1, room / width)
  return (
    <div ref={ref} className="mail-room">
      <Refusal error={query.error} />
      {query.data !== undefined && (
        <div style={{ height: frameHeight * scale }}>
          <iframe
            className="mail-frame"
            title={t.preview.frame}
            src={`/console/preview/${query.data.id}`}
            sandbox=""
            referrerPolicy="no-referrer"
            style={{ width, height: frameHeight, transform: `scale(${scale})` }}
          />
        </div>
      )}
    </div>
  )
}
