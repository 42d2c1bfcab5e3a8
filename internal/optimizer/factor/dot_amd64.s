#include "textflag.h"

// One register holds the four lanes of one sum. AX counts the numbers done, CX is how many there are.

// func dot1AVX2(s *[1]partial, a, b *float64, n int)
TEXT ·dot1AVX2(SB), NOSPLIT, $0-32
	MOVQ    s+0(FP), BX
	MOVQ    a+8(FP), R8
	MOVQ    b+16(FP), SI
	MOVQ    n+24(FP), CX
	VMOVUPD (BX), Y0
	XORQ    AX, AX

one:
	VMOVUPD     (SI)(AX*8), Y12
	VFMADD231PD (R8)(AX*8), Y12, Y0
	ADDQ        $4, AX
	CMPQ        AX, CX
	JLT         one
	VMOVUPD     Y0, (BX)
	VZEROUPPER
	RET

// func dot4AVX2(s *[4]partial, a0, a1, a2, a3, b *float64, n int)
TEXT ·dot4AVX2(SB), NOSPLIT, $0-56
	MOVQ    s+0(FP), BX
	MOVQ    a0+8(FP), R8
	MOVQ    a1+16(FP), R9
	MOVQ    a2+24(FP), R10
	MOVQ    a3+32(FP), R11
	MOVQ    b+40(FP), SI
	MOVQ    n+48(FP), CX
	VMOVUPD (BX), Y0
	VMOVUPD 32(BX), Y1
	VMOVUPD 64(BX), Y2
	VMOVUPD 96(BX), Y3
	XORQ    AX, AX

four:
	VMOVUPD     (SI)(AX*8), Y12
	VFMADD231PD (R8)(AX*8), Y12, Y0
	VFMADD231PD (R9)(AX*8), Y12, Y1
	VFMADD231PD (R10)(AX*8), Y12, Y2
	VFMADD231PD (R11)(AX*8), Y12, Y3
	ADDQ        $4, AX
	CMPQ        AX, CX
	JLT         four
	VMOVUPD     Y0, (BX)
	VMOVUPD     Y1, 32(BX)
	VMOVUPD     Y2, 64(BX)
	VMOVUPD     Y3, 96(BX)
	VZEROUPPER
	RET

// func dot12AVX2(s *[12]partial, a0, a1, a2, a3, b0, b1, b2 *float64, n int)
TEXT ·dot12AVX2(SB), NOSPLIT, $0-72
	MOVQ    s+0(FP), BX
	MOVQ    a0+8(FP), R8
	MOVQ    a1+16(FP), R9
	MOVQ    a2+24(FP), R10
	MOVQ    a3+32(FP), R11
	MOVQ    b0+40(FP), SI
	MOVQ    b1+48(FP), DI
	MOVQ    b2+56(FP), DX
	MOVQ    n+64(FP), CX
	VMOVUPD (BX), Y0
	VMOVUPD 32(BX), Y1
	VMOVUPD 64(BX), Y2
	VMOVUPD 96(BX), Y3
	VMOVUPD 128(BX), Y4
	VMOVUPD 160(BX), Y5
	VMOVUPD 192(BX), Y6
	VMOVUPD 224(BX), Y7
	VMOVUPD 256(BX), Y8
	VMOVUPD 288(BX), Y9
	VMOVUPD 320(BX), Y10
	VMOVUPD 352(BX), Y11
	XORQ    AX, AX

twelve:
	VMOVUPD     (SI)(AX*8), Y12
	VMOVUPD     (DI)(AX*8), Y13
	VMOVUPD     (DX)(AX*8), Y14
	VMOVUPD     (R8)(AX*8), Y15
	VFMADD231PD Y12, Y15, Y0
	VFMADD231PD Y13, Y15, Y4
	VFMADD231PD Y14, Y15, Y8
	VMOVUPD     (R9)(AX*8), Y15
	VFMADD231PD Y12, Y15, Y1
	VFMADD231PD Y13, Y15, Y5
	VFMADD231PD Y14, Y15, Y9
	VMOVUPD     (R10)(AX*8), Y15
	VFMADD231PD Y12, Y15, Y2
	VFMADD231PD Y13, Y15, Y6
	VFMADD231PD Y14, Y15, Y10
	VMOVUPD     (R11)(AX*8), Y15
	VFMADD231PD Y12, Y15, Y3
	VFMADD231PD Y13, Y15, Y7
	VFMADD231PD Y14, Y15, Y11
	ADDQ        $4, AX
	CMPQ        AX, CX
	JLT         twelve
	VMOVUPD     Y0, (BX)
	VMOVUPD     Y1, 32(BX)
	VMOVUPD     Y2, 64(BX)
	VMOVUPD     Y3, 96(BX)
	VMOVUPD     Y4, 128(BX)
	VMOVUPD     Y5, 160(BX)
	VMOVUPD     Y6, 192(BX)
	VMOVUPD     Y7, 224(BX)
	VMOVUPD     Y8, 256(BX)
	VMOVUPD     Y9, 288(BX)
	VMOVUPD     Y10, 320(BX)
	VMOVUPD     Y11, 352(BX)
	VZEROUPPER
	RET

// func axpyAVX2(alpha float64, x, y *float64, n int)
TEXT ·axpyAVX2(SB), NOSPLIT, $0-32
	VBROADCASTSD alpha+0(FP), Y0
	MOVQ         x+8(FP), SI
	MOVQ         y+16(FP), DI
	MOVQ         n+24(FP), CX
	XORQ         AX, AX

add:
	VMOVUPD     (DI)(AX*8), Y1
	VFMADD231PD (SI)(AX*8), Y0, Y1
	VMOVUPD     Y1, (DI)(AX*8)
	ADDQ        $4, AX
	CMPQ        AX, CX
	JLT         add
	VZEROUPPER
	RET

// func axpy4AVX2(alpha *[4]float64, x0, x1, x2, x3, y *float64, n int)
TEXT ·axpy4AVX2(SB), NOSPLIT, $0-56
	MOVQ         alpha+0(FP), BX
	MOVQ         x0+8(FP), R8
	MOVQ         x1+16(FP), R9
	MOVQ         x2+24(FP), R10
	MOVQ         x3+32(FP), R11
	MOVQ         y+40(FP), DI
	MOVQ         n+48(FP), CX
	VBROADCASTSD (BX), Y0
	VBROADCASTSD 8(BX), Y1
	VBROADCASTSD 16(BX), Y2
	VBROADCASTSD 24(BX), Y3
	XORQ         AX, AX

addfour:
	VMOVUPD     (DI)(AX*8), Y4
	VFMADD231PD (R8)(AX*8), Y0, Y4
	VFMADD231PD (R9)(AX*8), Y1, Y4
	VFMADD231PD (R10)(AX*8), Y2, Y4
	VFMADD231PD (R11)(AX*8), Y3, Y4
	VMOVUPD     Y4, (DI)(AX*8)
	ADDQ        $4, AX
	CMPQ        AX, CX
	JLT         addfour
	VZEROUPPER
	RET
