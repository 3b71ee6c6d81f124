import { Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTexts } from '../texts/settings.tsx'

interface DialogProps {
  readonly title: string
  readonly open: boolean
  readonly close: () => void
  readonly children: ReactNode
  /** How wide it is at most. Default `md`. */
  readonly size?: 'md' | 'xl'
}

/** A dialog. Its head is no landmark: a page has one banner. */
export function Dialog({ title, open, close, children, size = 'md' }: DialogProps) {
  const t = useTexts()
  return (
    <Modal.Root opened={open} onClose={close} size={size}>
      <Modal.Overlay />
      <Modal.Content>
        <div className="dialog-head">
          <Modal.Title fw={600}>{title}</Modal.Title>
          <Modal.CloseButton aria-label={t.common.close} />
        </div>
        <Modal.Body>{children}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}
