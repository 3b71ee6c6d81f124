import { Group } from '@mantine/core'
import type { ReactNode } from 'react'
import { useSession } from '../../api/session.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { Icon } from '../icon.tsx'

/** Whether the APIs mask personal data for the person. */
export function useMasked(): boolean {
  return !useSession().scopes.includes('read:personal-data')
}

/** A value that the API masks for those who may not read personal data: with a lock, where it did. */
export function Masked({ children }: { children: ReactNode }) {
  const t = useTexts()
  if (!useMasked() || children === undefined || children === null) return children
  return (
    <Group gap={4} wrap="nowrap" className="masked" title={t.common.masked}>
      <Icon name="lock" size={13} />
      <span className="visually-hidden">{t.common.masked}: </span>
      <span>{children}</span>
    </Group>
  )
}
