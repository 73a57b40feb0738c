import { type AnswerContent, type Block, finalUses, fullContent, fullUsage } from './content.ts';

/** The Message of an answer that is not streamed. */
export function message(content: AnswerContent = {}): Record<string, unknown> {
  const full = fullContent(content);
  return {
    id: full.id,
    type: 'message',
    role: 'assistant',
    model: full.model,
    content: full.blocks.map(blockOf),
    stop_reason: full.stopReason,
    stop_sequence: null,
    usage: { ...fullUsage(full, full.tokens.output), ...finalUses(full) },
  };
}

function blockOf(block: Block): Record<string, unknown> {
  const content = block.pieces.join('');
  switch (block.type) {
    case 'text':
      return { type: 'text', text: content };
    case 'thinking':
      return { type: 'thinking', thinking: content, signature: block.signature };
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: JSON.parse(content) };
    default:
      return block satisfies never;
  }
}
