import { Button, type ButtonProps, CopyButton } from '@mantine/core'
import { useTexts } from '../../texts/settings.tsx'
import { Icon } from '../icon.tsx'

interface CopyTextProps {
  readonly text: string
  readonly label: string
  readonly size?: ButtonProps['size']
}

/** A button that copies a text, and says that it did. */
export function CopyText({ text, label, size = 'sm' }: CopyTextProps) {
  const t = useTexts()
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button
          variant="default"
          size={size}
          onClick={copy}
          leftSection={<Icon name={copied ? 'check' : 'copy'} size={14} />}
        >
          {copied ? t.common.copied : label}
        </Button>
      )}
    </CopyButton>
  )
}
