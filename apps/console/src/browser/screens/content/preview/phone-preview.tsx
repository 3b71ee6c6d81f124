import type { TemplatePreview } from '@gatehouse/client'
import { SegmentedControl, Stack } from '@mantine/core'
import { useState } from 'react'
import { State } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'

const devices = ['android', 'ios', 'web'] as const
type Device = (typeof devices)[number]

/** The service that sends to each device. */
const services = { android: 'fcm', ios: 'apns', web: 'web' } as const

/** A push as a phone or a browser shows it, and how much of what its service accepts it takes. */
export function PhonePreview({ item }: { item: TemplatePreview }) {
  const t = useTexts()
  const [device, choose] = useState<Device>('android')
  const size = item.push?.[services[device]]
  return (
    <Stack gap="sm" align="flex-start">
      <SegmentedControl
        size="xs"
        aria-label={t.preview.device}
        value={device}
        onChange={(next) => choose(next as Device)}
        data={devices.map((value) => ({ value, label: t.preview[value] }))}
      />
      <div className={`device ${device}`}>
        <div className="device-push">
          <header>
            <span className="app-icon" aria-hidden="true" />
            <span>{t.preview.app}</span>
            <small>{t.preview.now}</small>
          </header>
          {item.subject !== undefined && <strong>{item.subject}</strong>}
          <p>{item.body}</p>
        </div>
      </div>
      {size !== undefined && (
        <State tone={size.bytes > size.max_bytes ? 'bad' : 'good'}>
          {t.preview.bytes(size.bytes, size.max_bytes)}
          {size.bytes > size.max_bytes ? ` · ${t.preview.tooLarge}` : ''}
        </State>
      )}
    </Stack>
  )
}
