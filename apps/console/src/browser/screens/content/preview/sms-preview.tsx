import type { TemplatePreview } from '@gatehouse/client'
import { Code, Group, Stack, Text } from '@mantine/core'
import { Fragment } from 'react'
import { State } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'

/** An SMS: its bubble with the seams between segments, its encoding, and what forces UCS-2. */
export function SmsPreview({ item: { sms, body } }: { item: TemplatePreview }) {
  const t = useTexts()
  if (sms === undefined) return null
  const { parts, encoding, segments, units, units_per_segment: perSegment, outside_gsm: outside } = sms
  return (
    <Stack gap="sm" align="flex-start">
      <div className="device sms">
        <p className="bubble">
          {parts.map((part, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: segments have no other identity
            <Fragment key={index}>
              {index > 0 && <span className="seam">{t.preview.segment(index + 1)}</span>}
              {part}
            </Fragment>
          ))}
        </p>
      </div>
      <Group gap="xs">
        <State tone={segments > 1 ? 'careful' : 'good'}>{t.preview.segments(segments)}</State>
        <State tone={encoding === 'UCS-2' ? 'careful' : 'good'}>{encoding}</State>
        <Text size="sm" c="dimmed">
          {t.preview.units(units, segments * perSegment)}
        </Text>
      </Group>
      {outside.length > 0 && (
        <Text size="sm">
          {t.preview.forcesUcs2}{' '}
          {outside.slice(0, 12).map((character) => (
            <Code key={character} mr={6}>
              {character} {codePoint(character)}
            </Code>
          ))}
        </Text>
      )}
      {parts.join('') !== body && <Text size="sm">{t.preview.shortLinks}</Text>}
    </Stack>
  )
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
